// Algorithm: one way to do one collective. One file in algorithms/, one line in algorithms/list.cpp.
#pragma once

#include "collectives/builder.hpp"
#include "collectives/cost.hpp"

#include <span>
#include <string_view>

namespace godwit::collectives {

/// All three functions are pure; applies and cost may not look at Problem::in_place.
struct Algorithm {
  std::string_view name;    // word in GODWIT_ALGO: "recursive_doubling"
  std::string_view family;  // a word that names several: "tree", "ring", or empty
  Collective collective;
  bool (*applies)(const Problem&) noexcept;
  Cost (*cost)(const Problem&) noexcept;
  /// States the steps of builder.rank().
  void (*build)(ScheduleBuilder&);
  /// Its price has not been confirmed by measurement: it comes after all others, unless GODWIT_ALGO names it or `godwit
  /// tune` has found it to be the fastest.
  bool on_request = false;
};

/// All algorithms, grouped by collective.
std::span<const Algorithm* const> algorithms() noexcept;
/// nullptr: the collective has none of that name.
const Algorithm* find_algorithm(Collective collective, std::string_view name) noexcept;

/// The schedule of one rank.
Schedule build(const Algorithm& algorithm, const Problem& problem, Rank rank);

/// For Algorithm::applies.
inline bool always(const Problem&) noexcept { return true; }
/// Reductions that do not keep the order of ranks.
inline bool if_commutative(const Problem& problem) noexcept { return problem.commutative; }

}  // namespace godwit::collectives
