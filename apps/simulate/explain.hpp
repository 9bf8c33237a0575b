// What the time of a run goes into, in words. Pure.
#pragma once

#include "collectives/simulator/prediction.hpp"

#include <string>

namespace godwit::apps {

/// Lines that begin with "#   ": shares of the critical path, its way through the ranks, the busiest link, memory.
std::string explanation(const collectives::simulator::Run& run);

}  // namespace godwit::apps
