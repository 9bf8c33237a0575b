// What the time of a run goes into, in words. Pure, but for the clock in plan_line().
#pragma once

#include "collectives/simulator/prediction.hpp"

#include <string>

namespace godwit::apps {

/// Lines that begin with "#   ": shares of the critical path, its way through the ranks, the busiest link.
std::string explanation(const collectives::simulator::Run& run);
/// What a rank needs to begin: its plan, how long this machine takes to build it, scratch memory.
std::string plan_line(const collectives::Algorithm& algorithm, const collectives::Problem& problem);

}  // namespace godwit::apps
