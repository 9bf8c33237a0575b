// The system's network interfaces, for SystemApi. Threads: any.
#pragma once

#include <vector>

#include "verbs/facts.hpp"

namespace godwit::verbs {

/// In the kernel's order; empty if it does not tell.
std::vector<NetInterface> system_net_interfaces() noexcept;

}  // namespace godwit::verbs
