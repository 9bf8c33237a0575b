// Verifier: proves that the schedules of all ranks together do what the collective promises, by running them on sets
// instead of numbers. Pure; one thread.
//
// What it shows, for any timing: dependencies are well-formed; buffers are not left; an input is not overwritten
// unless in place; steps that touch the same elements in conflict are ordered by dependencies; messages match in
// length; nothing deadlocks even with no buffering; nothing reads what is not written; every output element holds
// each rank's contribution exactly once, in the order of ranks if the operation needs that; after a barrier
// every rank has heard of every other. Because conflicting steps are ordered, one order of running stands for all.
#pragma once

#include "collectives/algorithm.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace godwit::collectives {

/// problems[r] and schedules[r] are rank r's; the problems differ in `in_place` only. Returns the first thing that is
/// wrong, in words, or an empty string: proven.
std::string verify(const std::vector<Problem>& problems, std::vector<Schedule> schedules, std::uint32_t seed = 0);
/// All ranks have `problem`.
std::string verify(const Algorithm& algorithm, const Problem& problem, std::uint32_t seed = 0);

/// For counts of ranks at which all schedules are too many: what can be shown by those of `ranks` and of some of the
/// ranks that they talk to. Each has a sound structure and writes its whole output, and both ends of a pair agree about
/// the number and the lengths of their messages.
std::string verify_sample(const Algorithm& algorithm, const Problem& problem, const std::vector<Rank>& ranks);

/// The part that concerns one rank alone: dependencies, bounds, peers, writes to the input, races.
std::string verify_structure(const Problem& problem, Rank rank, const Schedule& schedule);

}  // namespace godwit::collectives
