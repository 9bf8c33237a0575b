// The list of transports of this build: the one place that names them all.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/services.hpp"
#include "core/transport.hpp"

namespace godwit::runtime {

struct TransportEntry {
  std::string_view name;
  std::string_view about;
  /// Empty: can be used here.
  std::string (*unavailable_reason)();
  std::unique_ptr<core::Transport> (*make)(core::Services& services, Rank rank, std::string_view job_id);
};

/// In order of preference.
std::span<const TransportEntry> transport_list() noexcept;
struct OpenedTransports {
  std::vector<std::unique_ptr<core::Transport>> transports;  // in order of preference
  std::string missing;                                       // "shm: why it is not there; verbs: why"
};

/// Opens those that GODWIT_TRANSPORTS allows and that work here. Throws Error(invalid_argument) for a name that
/// does not exist; a transport that was asked for by name and does not work is an error, too.
OpenedTransports open_transports(core::Services& services, Rank rank, std::string_view job_id);

}  // namespace godwit::runtime
