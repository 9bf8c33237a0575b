// The page of --report: time and bus bandwidth over size, a curve for each algorithm.
#include "simulate/print.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <godwit/error.hpp>
#include <godwit/version.hpp>

#include <algorithm>
#include <chrono>

namespace godwit::apps {

namespace {

using collectives::Algorithm;
using collectives::Problem;

class Curves {
 public:
  explicit Curves(const Forecaster& forecaster, const SimulateOptions& options)
      : forecaster_(forecaster), options_(options) {
    time_ = {.id = "time", .title = title("time"), .x_label = "size (bytes)", .y_label = "us"};
    bandwidth_ = {.id = "busbw",
                  .title = title("bus bandwidth"),
                  .x_label = "size (bytes)",
                  .y_label = "GB/s",
                  .lower_is_better = false};
  }

  std::vector<report::Chart> charts() {
    std::optional<std::size_t> bytes = options_.sizes.first;
    for (; bytes; bytes = options_.sizes.next(*bytes, size_of(options_.type))) {
      const Problem problem = forecaster_.problem(*bytes, false);
      add("godwit (selector)", problem, forecaster_.forecast(problem).seconds);
      for (const Algorithm* algorithm : forecaster_.allowed(problem)) try {
          add(std::string(algorithm->name), problem, forecaster_.forecast(problem, *algorithm).seconds);
        } catch (const Error& error) {
          if (error.code() != ErrorCode::not_supported) throw;  // more steps than allowed: the curve ends here
        }
    }
    return {time_, bandwidth_};
  }

 private:
  std::string title(std::string_view what) const {
    return fmt::format("{} on {} ranks, predicted: {}", to_string(*collective_of(options_.benchmark)),
                       forecaster_.ranks(), what);
  }

  void add(const std::string& name, const Problem& problem, double seconds) {
    const double size = static_cast<double>(problem.bytes());
    if (size <= 0 || seconds <= 0) return;  // nothing that a logarithmic axis could show
    put(time_, name, size, seconds * 1e6);
    put(bandwidth_, name, size,
        algorithm_bandwidth(problem.bytes(), seconds) *
            bus_factor(options_.benchmark, static_cast<std::size_t>(forecaster_.ranks())));
  }

  static void put(report::Chart& chart, const std::string& name, double x, double y) {
    auto series = std::find_if(chart.series.begin(), chart.series.end(),
                               [&](const report::Series& known) { return known.runtime == name; });
    if (series == chart.series.end()) series = chart.series.insert(chart.series.end(), {name, {}});
    series->points.push_back({.x = x, .median = y, .min = y, .max = y, .rounds = {y}});
  }

  const Forecaster& forecaster_;
  const SimulateOptions& options_;
  report::Chart time_, bandwidth_;
};

}  // namespace

report::Document curves(const Forecaster& forecaster, const SimulateOptions& options, const std::string& command) {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  report::Document document{
      .title = fmt::format("Predicted, not measured: {} on '{}'", to_string(*collective_of(options.benchmark)),
                           forecaster.cluster().name),
      .command = command,
      .date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now)),
      .machine = {},
      .runtimes = {},
      .charts = Curves(forecaster, options).charts(),
      .targets = {}};
  std::string heading = simulation_heading(forecaster, options);
  std::replace(heading.begin(), heading.end(), '#', ' ');
  document.runtimes.push_back({"simulation", std::string(version()), heading});
  return document;
}

}  // namespace godwit::apps
