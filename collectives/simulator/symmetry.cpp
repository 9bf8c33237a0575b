#include "collectives/simulator/symmetry.hpp"

#include "collectives/algorithm.hpp"

#include <algorithm>
#include <bit>
#include <set>

namespace godwit::collectives::simulator {

namespace {

bool alike(std::uint64_t a, std::uint64_t b) noexcept { return std::max(a, b) - std::min(a, b) <= 1; }

/// Both do the same, with peers at the same distances. Parts of a vector may differ by an element. What waits for
/// what must be equal: halving and doubling in chunks have no symmetry, because a rank's own part, which is there from
/// the beginning, is in another chunk for each (assuming one makes them a fifth too fast).
bool same(const Schedule& a, Rank rank_a, const Schedule& b, Rank rank_b, const Symmetry& symmetry) {
  if (a.steps.size() != b.steps.size() || a.dependencies != b.dependencies) return false;
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    const Step &x = a.steps[i], &y = b.steps[i];
    if (x.kind != y.kind || !alike(x.count, y.count) || x.dependency_count != y.dependency_count) return false;
    const bool message = x.kind == StepKind::send || x.kind == StepKind::recv;
    if (message && symmetry.distance(rank_a, x.peer) != symmetry.distance(rank_b, y.peer)) return false;
  }
  return true;
}

bool holds(const Algorithm& algorithm, const Problem& problem, const Symmetry& symmetry) {
  const int period = symmetry.period, periods = problem.size / period;
  for (Rank seat : std::set<Rank>{0, 1 % period, period / 2, period - 1}) {
    const Schedule first = build(algorithm, problem, seat);
    for (int other : std::set<int>{1, periods / 2, periods - 1}) {
      const Rank rank = seat + other * period;
      if (rank != seat && !same(first, seat, build(algorithm, problem, rank), rank, symmetry)) return false;
    }
  }
  return true;
}

bool power_of_two(int n) noexcept { return std::has_single_bit(static_cast<unsigned>(n)); }

}  // namespace

Symmetry find_symmetry(const Algorithm& algorithm, const Problem& problem, int period) {
  const int n = problem.size;
  const Symmetry none{Symmetry::Kind::none, n, n};
  if (period >= n || n % period != 0 || problem.rooted()) return none;
  const Symmetry shift{Symmetry::Kind::shift, n, period}, mirror{Symmetry::Kind::mirror, n, period};
  if (holds(algorithm, problem, shift)) return shift;
  if (power_of_two(n) && power_of_two(period) && holds(algorithm, problem, mirror)) return mirror;
  return none;
}

}  // namespace godwit::collectives::simulator
