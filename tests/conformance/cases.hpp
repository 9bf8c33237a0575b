// The transports that the suite runs over: one entry each in cases.cpp.
#pragma once

#include "core/services.hpp"
#include "core/transport.hpp"

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace godwit::conformance {

struct TransportCase {
  std::string name;
  std::function<std::unique_ptr<core::Transport>(core::Services&, Rank, std::string_view job)> make;
  std::function<void(core::OptionSet&)> add_options;
  core::OptionSet::Variables options;  // without GODWIT_
  bool between_processes = true;       // false: peers are in one process only
  bool maps = true;                    // memory of godwit::allocate is mapped: one-sided operations at once
  bool keys_end = false;               // keys of memory that is not registered any more are refused
};

const std::vector<TransportCase>& transport_cases();
std::ostream& operator<<(std::ostream& out, const TransportCase& transport);

}  // namespace godwit::conformance
