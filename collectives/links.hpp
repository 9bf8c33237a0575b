// What the runtime's selector reckons with; the simulator's, too, so that both choose alike. Pure.
#pragma once

#include "collectives/cost.hpp"

namespace godwit::collectives {

/// Rates of shared memory on a current server. A rank that shares its CPU is woken by the scheduler for each message.
LinkModel link_in_node(double crowding) noexcept;
/// Rates of a 100 Gbit/s adapter.
LinkModel link_between_nodes(double crowding) noexcept;

}  // namespace godwit::collectives
