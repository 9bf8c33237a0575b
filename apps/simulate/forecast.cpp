#include "simulate/forecast.hpp"

#include "collectives/direct.hpp"
#include "collectives/links.hpp"
#include "common/usage.hpp"

#include <fmt/format.h>

namespace godwit::apps {

using collectives::Algorithm;
using collectives::Problem;
using collectives::SelectionRules;
using collectives::simulator::Cluster;
using collectives::simulator::Mover;
using collectives::simulator::Run;

namespace {

Cluster with_nodes(Cluster cluster, int nodes) {
  if (nodes > 0) cluster.nodes = nodes;
  check(cluster);
  return cluster;
}

SelectionRules rules_of(const std::string& text) {
  return text.empty() ? SelectionRules{} : SelectionRules::parse(text, "--algo");
}

}  // namespace

Forecaster::Forecaster(const Cluster& cluster, const SimulateOptions& options)
    : cluster_(with_nodes(cluster, options.nodes)),
      options_(options),
      ranks_(options.ranks > 0 ? options.ranks : cluster_.ranks()),
      steps_(options.steps > 0 ? options.steps : collectives::simulator::default_budget),
      selector_(rules_of(options.algorithms), collectives::link_in_node(1), collectives::link_between_nodes(1)) {
  if (ranks_ > cluster_.ranks())
    throw UsageError(fmt::format("--ranks {}: the cluster has {} nodes of {} ranks, {} in all; raise --nodes", ranks_,
                                 cluster_.nodes, cluster_.ranks_per_node, cluster_.ranks()));
  if (options.root >= ranks_)
    throw UsageError(fmt::format("-r {}: there are {} ranks, 0 to {}", options.root, ranks_, ranks_ - 1));
}

Problem Forecaster::problem(std::size_t bytes, bool in_place) const {
  const Shape shape = shape_of(options_.benchmark, bytes, size_of(options_.type), static_cast<std::size_t>(ranks_));
  const Problem problem{.collective = *collective_of(options_.benchmark),
                        .size = ranks_,
                        .count = shape.count,
                        .type = options_.type,
                        .op = options_.op,
                        .root = has_root(options_.benchmark) ? options_.root : 0,
                        .in_place = in_place};
  return placed(cluster_, problem);
}

std::vector<const Algorithm*> Forecaster::allowed(const Problem& problem) const {
  const auto candidates = selector_.candidates(problem);
  std::vector<const Algorithm*> found;
  for (const Algorithm* known : collectives::algorithms())
    for (const auto& candidate : candidates)
      if (candidate.algorithm == known) found.push_back(known);
  return found;
}

const Algorithm* Forecaster::choice(const Problem& problem) const {
  const bool by_flags = cluster_.mover == Mover::processors && selector_.direct(problem) != nullptr;
  return by_flags ? nullptr : &selector_.choose(problem);
}

Forecast Forecaster::forecast(const Problem& problem) const {
  if (const Algorithm* algorithm = choice(problem)) return forecast(problem, *algorithm);
  const Algorithm& direct = *selector_.direct(problem);
  return {std::string(direct.name), seconds(direct.cost(problem), inside()), "formula"};
}

Forecast Forecaster::forecast(const Problem& problem, const Algorithm& algorithm) const {
  const auto found = predict(cluster_, algorithm, problem, steps_);
  return {std::string(algorithm.name), found.seconds, std::string(to_string(found.method))};
}

std::optional<Run> Forecaster::observed(const Problem& problem, const Algorithm& algorithm) const {
  const auto found = predict(cluster_, algorithm, problem, steps_);
  if (found.method == collectives::simulator::Method::extrapolated) return std::nullopt;
  return run(cluster_, algorithm, problem, found.method == collectives::simulator::Method::folded, true);
}

collectives::LinkModel Forecaster::inside() const noexcept {
  return {.latency_s = cluster_.copied_s(collectives::flag_payload),
          .overhead_s = 0,
          .bandwidth_Bps = cluster_.inside.bandwidth_Bps,
          .reduce_Bps = cluster_.reduce_Bps,
          .copy_Bps = cluster_.copy_Bps};
}

}  // namespace godwit::apps
