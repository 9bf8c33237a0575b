#include "tool/perf/table.hpp"

#include "common/table.hpp"

#include <fmt/format.h>

namespace godwit::apps {

std::string perf_heading(bool latency) {
  if (latency)
    return fmt::format("#{:>11}  {:>10}  {:>10}  {:>10}  {:>10}  {:>10}  {:>7}\n", "size(B)", "iterations", "min(us)",
                       "median(us)", "p99(us)", "avg(us)", "#wrong");
  return fmt::format("#{:>11}  {:>10}  {:>10}  {:>12}  {:>7}\n", "size(B)", "messages", "MB/s", "messages/s", "#wrong");
}

std::string perf_line(bool latency, long iterations, const Result& result) {
  const std::string wrong = result.wrong ? fmt::format("{}", *result.wrong) : "N/A";
  if (latency) {
    const Summary summary = result.latency_us.value_or(Summary{});
    return fmt::format("{:>12}  {:>10}  {:>10.3f}  {:>10.3f}  {:>10.3f}  {:>10.3f}  {:>7}\n", result.size, iterations,
                       summary.min, summary.median, summary.p99, summary.average, wrong);
  }
  return fmt::format("{:>12}  {:>10}  {:>10}  {:>12.0f}  {:>7}\n", result.size, iterations,
                     fitted(result.bandwidth_MBps.value_or(0), 10), result.messages_per_s.value_or(0), wrong);
}

}  // namespace godwit::apps
