// Symmetry: which ranks of a collective do the same, so that one of them can stand for all. Pure.
#pragma once

#include "collectives/problem.hpp"

#include <cstdint>

namespace godwit::collectives {
struct Algorithm;
}

namespace godwit::collectives::simulator {

/// With period P, rank r does what rank r mod P does, with other peers: those at the same distance (shift: peer - rank
/// modulo the number of ranks; mirror: peer xor rank). With P = number of ranks, nothing is assumed.
struct Symmetry {
  enum class Kind : std::uint8_t { none, shift, mirror };
  Kind kind = Kind::none;
  int ranks = 1;
  int period = 1;

  bool folds() const noexcept { return period < ranks; }
  /// What does not change when both are moved.
  int distance(Rank from, Rank to) const noexcept {
    if (kind == Kind::mirror) return from ^ to;
    const int difference = to - from;
    return difference < 0 ? difference + ranks : difference;
  }
  /// The rank at `distance` before `to`.
  Rank source(Rank to, int distance) const noexcept {
    if (kind == Kind::mirror) return to ^ distance;
    const int difference = to - distance;
    return difference < 0 ? difference + ranks : difference;
  }
  int seat(Rank rank) const noexcept { return rank % period; }
};

/// Looks at the schedules of some ranks of each seat (the first, the middle, the last) for a symmetry of this period;
/// none where they differ. The tests hold it against runs of all ranks.
Symmetry find_symmetry(const Algorithm& algorithm, const Problem& problem, int period);

}  // namespace godwit::collectives::simulator
