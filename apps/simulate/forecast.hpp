// Forecast: what the runtime would do with a call on a cluster, and how long that would take. Pure.
#pragma once

#include "collectives/selector.hpp"
#include "collectives/simulator/prediction.hpp"
#include "simulate/options.hpp"

#include <optional>
#include <string>
#include <vector>

namespace godwit::apps {

struct Forecast {
  std::string algorithm;
  double seconds = 0;
  std::string method;  // "full", "folded", "extrapolated", or "formula" for ways that are no schedules
};

class Forecaster {
 public:
  /// Throws Error(invalid_argument) for more ranks than the cluster has, a root that is none of them, and wrong rules.
  Forecaster(const collectives::simulator::Cluster& cluster, const SimulateOptions& options);

  const collectives::simulator::Cluster& cluster() const noexcept { return cluster_; }
  int ranks() const noexcept { return ranks_; }
  /// The call that a *_perf program makes for this size.
  collectives::Problem problem(std::size_t bytes, bool in_place) const;
  /// By the way that the runtime's selector chooses among the allowed ones.
  Forecast forecast(const collectives::Problem& problem) const;
  Forecast forecast(const collectives::Problem& problem, const collectives::Algorithm& algorithm) const;
  /// The allowed algorithms that apply, in the order of the list.
  std::vector<const collectives::Algorithm*> allowed(const collectives::Problem& problem) const;
  /// The selector's choice among schedules; nullptr where it is none (a way by flags).
  const collectives::Algorithm* choice(const collectives::Problem& problem) const;
  /// All that happened in one run of this algorithm; nothing where one run within the steps allowed does not stand for
  /// all ranks.
  std::optional<collectives::simulator::Run> observed(const collectives::Problem& problem,
                                                      const collectives::Algorithm& algorithm) const;

 private:
  /// Of two ranks of a node: what the formulas of direct.hpp need.
  collectives::LinkModel inside() const noexcept;

  collectives::simulator::Cluster cluster_;
  SimulateOptions options_;
  int ranks_;
  double steps_;
  collectives::Selector selector_;
};

}  // namespace godwit::apps
