#include "simulate/print.hpp"

#include "common/table.hpp"
#include "core/text.hpp"
#include "simulate/explain.hpp"
#include "simulate/training.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <godwit/error.hpp>
#include <godwit/version.hpp>

#include <algorithm>
#include <cmath>

namespace godwit::apps {

namespace {

using collectives::Algorithm;
using collectives::Problem;
using collectives::simulator::Cluster;
using collectives::simulator::Mover;
using collectives::simulator::RailUse;
using collectives::simulator::Wire;

std::string wire_text(const Wire& wire) {
  return fmt::format("{:.4g} GB/s, {:.3g} us latency, {:.3g} us per message", wire.bandwidth_Bps / 1e9,
                     wire.latency_s * 1e6, wire.overhead_s * 1e6);
}

std::string cluster_lines(const Cluster& cluster) {
  std::string text;
  if (cluster.ranks_per_node > 1)
    text += fmt::format(
        "# inside a node: {}{}, moved by {}\n", wire_text(cluster.inside),
        cluster.inside_total_Bps > 0 ? fmt::format(", {:.4g} GB/s in all", cluster.inside_total_Bps / 1e9) : "",
        cluster.mover == Mover::engine ? "engines" : "processors");
  if (cluster.nodes == 1) return text;
  text +=
      fmt::format("# network: {} rail{} of {}{}", cluster.rails, cluster.rails == 1 ? "" : "s", wire_text(cluster.rail),
                  cluster.rails == 1                 ? ""
                  : cluster.rail_use == RailUse::all ? "; a message uses all"
                                                     : "; a rank uses one");
  if (cluster.nodes_per_leaf > 0)
    text += fmt::format("; {} nodes per leaf switch, oversubscription {:.3g}", cluster.nodes_per_leaf,
                        cluster.oversubscription);
  return text + "\n";
}

void for_each_size(const SimulateOptions& options, const std::function<void(std::size_t)>& visit) {
  std::optional<std::size_t> bytes = options.sizes.first;
  for (; bytes; bytes = options.sizes.next(*bytes, size_of(options.type))) visit(*bytes);
}

double bus_bandwidth(const SimulateOptions& options, int ranks, const Problem& problem, double seconds) {
  return algorithm_bandwidth(problem.bytes(), seconds) * bus_factor(options.benchmark, static_cast<std::size_t>(ranks));
}

std::string explained(const Forecaster& forecaster, const Problem& problem, const std::string& name) {
  const Algorithm* const algorithm = forecaster.choice(problem);
  if (algorithm == nullptr) return fmt::format("# {}: a formula, see docs/simulator.md\n", name);
  const auto run = forecaster.observed(problem, *algorithm);
  return fmt::format("# {}: {}\n{}{}", name, to_string(algorithm->cost(problem)),
                     run ? explanation(*run) : "#   extrapolated from smaller runs: more --steps run it whole\n",
                     plan_line(*algorithm, problem));
}

}  // namespace

std::string simulation_heading(const Forecaster& forecaster, const SimulateOptions& options) {
  const Cluster& cluster = forecaster.cluster();
  const int ranks = forecaster.ranks();
  const Problem any = forecaster.problem(options.sizes.first, false);
  return fmt::format(
      "# PREDICTED, not measured: godwit {} simulate\n# cluster '{}': {} nodes of {} ranks; {} ranks on {} of them\n{}"
      "# {}: algorithm by {}\n#\n",
      version(), cluster.name, cluster.nodes, cluster.ranks_per_node, ranks, any.shape.nodes, cluster_lines(cluster),
      to_string(*collective_of(options.benchmark)),
      options.algorithms.empty() ? "the selector" : "the selector within --algo " + options.algorithms);
}

void print_table(const Forecaster& forecaster, const SimulateOptions& options, const Print& print) {
  print(table_heading());
  double sum = 0;
  int lines = 0;
  std::string ways;
  for_each_size(options, [&](std::size_t bytes) {
    Measurement halves[2];
    Forecast forecast;
    for (const bool in_place : {true, false}) {
      const Problem problem = forecaster.problem(bytes, in_place);
      forecast = forecaster.forecast(problem);
      halves[in_place] = {.time_us = forecast.seconds * 1e6,
                          .algbw_GBps = algorithm_bandwidth(problem.bytes(), forecast.seconds),
                          .busbw_GBps = bus_bandwidth(options, forecaster.ranks(), problem, forecast.seconds)};
      sum += halves[in_place].busbw_GBps / 2;
    }
    ++lines;
    const Problem problem = forecaster.problem(bytes, false);
    print(table_line({.bytes = problem.bytes(),
                      .count = problem.count,
                      .type = to_string(options.type),
                      .redop = has_reduction(options.benchmark) ? to_string(options.op) : "none",
                      .root = has_root(options.benchmark) ? options.root : -1},
                     halves[0], halves[1]) +
          "\n");
    const std::string name = fmt::format("{:>12}  {} ({})", problem.bytes(), forecast.algorithm, forecast.method);
    ways += options.explain ? explained(forecaster, problem, name) : fmt::format("# {}\n", name);
  });
  print(fmt::format("# Avg bus bandwidth    : {:g} (predicted)\n#\n# size, algorithm (how predicted)\n{}",
                    lines > 0 ? sum / lines : 0, ways));
}

void print_comparison(const Forecaster& forecaster, const SimulateOptions& options, const Print& print) {
  const auto columns = forecaster.allowed(forecaster.problem(options.sizes.last, false));
  std::string head = fmt::format("# {:>12}", "size (B)");
  for (const Algorithm* algorithm : columns) head += fmt::format("  {:>20}", algorithm->name);
  print(head + "   (us; * the fastest, < the selector's choice, - does not apply or takes more --steps)\n");
  for_each_size(options, [&](std::size_t bytes) {
    const Problem problem = forecaster.problem(bytes, false);
    const Forecast chosen = forecaster.forecast(problem);
    const auto allowed = forecaster.allowed(problem);
    std::vector<std::optional<double>> times;
    for (const Algorithm* algorithm : columns) {
      times.emplace_back();
      if (std::find(allowed.begin(), allowed.end(), algorithm) == allowed.end()) continue;
      try {
        times.back() = forecaster.forecast(problem, *algorithm).seconds;
      } catch (const Error& error) {
        if (error.code() != ErrorCode::not_supported) throw;  // too many steps: "-"
      }
    }
    double best = INFINITY;
    for (const auto& time : times) best = std::min(best, time.value_or(best));
    std::string line = fmt::format("  {:>12}", problem.bytes());
    for (std::size_t i = 0; i < columns.size(); ++i)
      line += fmt::format("  {:>18}{}{}", times[i] ? fitted(*times[i] * 1e6, 12) : "-",
                          times[i] && *times[i] == best ? "*" : " ", columns[i]->name == chosen.algorithm ? "<" : " ");
    if (chosen.method == "formula")
      line += fmt::format("  {} {} us<", chosen.algorithm, fitted(chosen.seconds * 1e6, 8));
    print(line + "\n");
  });
}

void print_training(const Forecaster& forecaster, const SimulateOptions& options, const Print& print) {
  const auto bytes = static_cast<std::uint64_t>(options.parameters) * size_of(options.type);
  std::string algorithm;
  const TrainingStep step = training_step(bytes, options.bucket, options.compute_s, [&](std::size_t bucket) {
    const Forecast forecast = forecaster.forecast(forecaster.problem(bucket, true));
    if (algorithm.empty()) algorithm = fmt::format("{} ({})", forecast.algorithm, forecast.method);
    return forecast.seconds;
  });
  print(fmt::format("# training step: {:g} parameters, gradients of {} in {} buckets of {}, each by {}\n",
                    options.parameters, to_string(options.type), step.buckets, core::format_size(options.bucket),
                    algorithm));
  print(fmt::format(
      "computation           {:>12.3f} ms\ncommunication         {:>12.3f} ms\nadded to the step     {:>12.3f} ms\n"
      "efficiency            {:>12.1f} %  computation / step, with overlap\nwithout overlap       {:>12.1f} %\n",
      step.compute_s * 1e3, step.communication_s * 1e3, (step.step_s - step.compute_s) * 1e3, step.efficiency() * 100,
      step.without_overlap() * 100));
}

}  // namespace godwit::apps
