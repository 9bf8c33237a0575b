// The verbs transport over adapters in memory. All nodes of a test share one fabric, one process each; when the last of
// them ends, the test expects that nobody broke a rule, leaked an object, or sent without a receive being there.
// Threads: any.
#pragma once

#include "core/services.hpp"
#include "core/transport.hpp"

#include <memory>
#include <string_view>

namespace godwit::conformance {

inline constexpr int fake_hosts = 32;  // by rank

std::unique_ptr<core::Transport> make_over_infiniband(core::Services& services, Rank rank, std::string_view job);
std::unique_ptr<core::Transport> make_over_roce(core::Services& services, Rank rank, std::string_view job);
/// InfiniBand, two ports per host.
std::unique_ptr<core::Transport> make_over_two_rails(core::Services& services, Rank rank, std::string_view job);

}  // namespace godwit::conformance
