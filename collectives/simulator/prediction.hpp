// Prediction: how long an algorithm takes on a cluster, by the cheapest way that is exact enough. Pure.
//
//   full          the plans of all ranks run
//   folded        those of one period of ranks run, and stand for all others (symmetry.hpp)
//   extrapolated  two smaller runs (full or folded), on a straight line: an algorithm with a number of rounds that is
//                 linear in the ranks takes one round longer for each rank more with messages of equal length, and one
//                 that cuts messages into chunks the same time longer for each chunk more
#pragma once

#include "collectives/algorithm.hpp"
#include "collectives/simulator/simulation.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace godwit::collectives::simulator {

/// Steps; about a second.
inline constexpr double default_budget = 1.5e6;

enum class Method : std::uint8_t { full, folded, extrapolated };
std::string_view to_string(Method method) noexcept;

/// One run, and what it ran on.
struct Run {
  Network network;
  Symmetry symmetry;
  Outcome outcome;
};

/// The problem as the cluster has it: its shape and chunks.
Problem placed(const Cluster& cluster, Problem problem);

/// Runs all plans, or those of one period where `fold` is set and there is a symmetry; nothing if there is none.
/// Throws Error(invalid_argument) for more ranks than the cluster has.
std::optional<Run> run(const Cluster& cluster, const Algorithm& algorithm, const Problem& problem, bool fold,
                       bool with_activities = false);

struct Prediction {
  double seconds = 0;
  Method method = Method::full;
  int simulated_ranks = 1;
};

/// `budget`: steps that may be run; where all ranks have more, fewer stand for them. Throws as run, and
/// Error(not_supported) where nothing within the budget can stand for all.
Prediction predict(const Cluster& cluster, const Algorithm& algorithm, const Problem& problem,
                   double budget = default_budget);

}  // namespace godwit::collectives::simulator
