#include "collectives/simulator/prediction.hpp"

#include <godwit/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace godwit::collectives::simulator {

namespace {

/// Steps of one rank, about: each message is a send here and a receive there, and many are reduced.
double steps_of(const Algorithm& algorithm, const Problem& problem) { return 3 * algorithm.cost(problem).messages + 1; }

/// Symmetrical ranks have equal parts: `count` rounded up to a multiple where ranks divide it, if that is at most a few
/// percent more.
Problem evened(Problem problem) {
  constexpr std::uint64_t least = 32;  // elements of a part
  const auto n = static_cast<std::uint64_t>(problem.size);
  const bool divided = problem.collective == Collective::allreduce && problem.count >= least * n;
  if (divided) problem.count = (problem.count + n - 1) / n * n;
  return problem;
}

double line(double x, double x1, double y1, double x2, double y2) { return y1 + (y2 - y1) * (x - x1) / (x2 - x1); }

class Predictor {
 public:
  Predictor(const Cluster& cluster, const Algorithm& algorithm, double budget)
      : cluster_(cluster), algorithm_(algorithm), budget_(budget) {}

  std::optional<Prediction> predict(const Problem& problem) const {
    if (const auto direct = simulated(problem)) return direct;
    if (const auto fewer = fewer_ranks(problem)) return fewer;
    return fewer_chunks(problem);
  }

 private:
  std::optional<Prediction> simulated(const Problem& problem) const {
    const double steps = steps_of(algorithm_, problem);
    if (steps * problem.size <= budget_)
      return Prediction{run(cluster_, algorithm_, problem, false)->outcome.seconds, Method::full, problem.size};
    const int period = Network::smallest_period(cluster_);
    if (steps * period > budget_) return std::nullopt;
    const auto folded = run(cluster_, algorithm_, problem, true);
    if (!folded) return std::nullopt;
    return Prediction{folded->outcome.seconds, Method::folded, period};
  }

  /// With n ranks, as much to do as with `problem` for each pair of neighbours.
  Problem with_ranks(const Problem& problem, int n) const {
    Problem same = problem;
    same.size = n;
    same.root = 0;
    const bool whole = algorithm_.cost(same).messages * 1.5 > algorithm_.cost(problem).messages;  // a chain
    const bool per_rank = problem.vector_count() != problem.count;  // count is that of a block already
    if (!whole && !per_rank)
      same.count = std::max<std::uint64_t>(
          1, problem.count * static_cast<std::uint64_t>(n) / static_cast<std::uint64_t>(problem.size));
    return placed(cluster_, same);
  }

  /// Two runs of n / 2^k ranks, if the rounds are as many as the ranks.
  std::optional<Prediction> fewer_ranks(const Problem& problem) const {
    const int period = Network::smallest_period(cluster_);
    const int half = problem.size / 2 / period * period;
    if (half < 2 * period) return std::nullopt;
    const double rounds = algorithm_.cost(problem).rounds,
                 half_rounds = algorithm_.cost(with_ranks(problem, half)).rounds;
    if (rounds < 1.8 * half_rounds) return std::nullopt;
    for (int n = half; n / 2 / period * period >= period; n = n / 2 / period * period) {
      const int n2 = n / 2 / period * period;
      const auto more = simulated(with_ranks(problem, n));
      if (!more) continue;
      const auto less = simulated(with_ranks(problem, n2));
      if (!less) return std::nullopt;
      return Prediction{line(problem.size, n2, less->seconds, n, more->seconds), Method::extrapolated, n};
    }
    return std::nullopt;
  }

  /// Two runs of fewer chunks.
  std::optional<Prediction> fewer_chunks(const Problem& problem) const {
    for (std::uint64_t count = problem.count / 2; count / 2 >= 4 * problem.chunk(); count /= 2) {
      Problem more = problem, less = problem;
      more.count = count;
      less.count = count / 2;
      const auto long_run = simulated(more);
      if (!long_run) continue;
      const auto short_run = simulated(less);
      if (!short_run) return std::nullopt;
      const auto x = [](std::uint64_t c) { return static_cast<double>(c); };
      return Prediction{line(x(problem.count), x(less.count), short_run->seconds, x(more.count), long_run->seconds),
                        Method::extrapolated, long_run->simulated_ranks};
    }
    return std::nullopt;
  }

  const Cluster& cluster_;
  const Algorithm& algorithm_;
  const double budget_;
};

}  // namespace

std::string_view to_string(Method method) noexcept {
  switch (method) {
    case Method::full: return "full";
    case Method::folded: return "folded";
    case Method::extrapolated: return "extrapolated";
  }
  return "unknown";
}

Problem placed(const Cluster& cluster, Problem problem) {
  const int per_node = std::min(cluster.ranks_per_node, problem.size);
  problem.shape = {(problem.size + per_node - 1) / per_node, per_node};
  problem.chunk_bytes = cluster.chunk_bytes;
  return problem;
}

std::optional<Run> run(const Cluster& cluster, const Algorithm& algorithm, const Problem& problem, bool fold,
                       bool with_activities) {
  Problem here = placed(cluster, problem);
  Symmetry symmetry{Symmetry::Kind::none, here.size, here.size};
  if (fold) symmetry = find_symmetry(algorithm, here, Network::smallest_period(cluster));
  if (fold && !symmetry.folds() && evened(here) != here) {
    here = evened(here);
    symmetry = find_symmetry(algorithm, here, Network::smallest_period(cluster));
  }
  if (fold && !symmetry.folds()) return std::nullopt;
  Run result{.network = Network(cluster, here.size, symmetry.period), .symmetry = symmetry, .outcome = {}};
  std::vector<Plan> plans;
  plans.reserve(static_cast<std::size_t>(symmetry.period));
  for (Rank seat = 0; seat < symmetry.period; ++seat) {
    plans.emplace_back(build(algorithm, here, seat));
  }
  result.outcome = simulate(plans, result.network, symmetry, here.element_size(), with_activities);
  return result;
}

Prediction predict(const Cluster& cluster, const Algorithm& algorithm, const Problem& problem, double budget) {
  check(cluster);
  if (const auto found = Predictor(cluster, algorithm, budget).predict(placed(cluster, problem))) return *found;
  throw Error(ErrorCode::not_supported,
              fmt::format("{} by {}: a run of all ranks takes {:.2g} steps, more than the {:.2g} that are allowed, and "
                          "no smaller run stands for it; allow more steps, or take fewer ranks or another algorithm",
                          to_string(problem), algorithm.name, steps_of(algorithm, problem) * problem.size, budget));
}

}  // namespace godwit::collectives::simulator
