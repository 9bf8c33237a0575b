#include "tool/perf/table.hpp"

#include "common/table.hpp"

#include <fmt/format.h>

namespace godwit::apps {

std::string perf_heading(Measured measured) {
  if (measured == Measured::bandwidth)
    return fmt::format("#{:>11}  {:>10}  {:>10}  {:>12}  {:>7}\n", "size(B)", "messages", "MB/s", "messages/s",
                       "#wrong");
  return fmt::format("#{:>11}  {:>10}  {:>10}  {:>10}  {:>10}  {:>10}{}  {:>7}\n", "size(B)", "iterations", "min(us)",
                     "median(us)", "p99(us)", "avg(us)", measured == Measured::wake ? "  CPU(%)" : "", "#wrong");
}

std::string perf_line(Measured measured, long iterations, const Result& result) {
  const std::string wrong = result.wrong ? fmt::format("{}", *result.wrong) : "N/A";
  if (measured == Measured::bandwidth)
    return fmt::format("{:>12}  {:>10}  {:>10}  {:>12.0f}  {:>7}\n", result.size, iterations,
                       fitted(result.bandwidth_MBps.value_or(0), 10), result.messages_per_s.value_or(0), wrong);
  const Summary summary = result.latency_us.value_or(Summary{});
  const std::string cpu =
      measured == Measured::wake ? fmt::format("  {:>6.2f}", result.waiting_cpu_percent.value_or(0)) : "";
  return fmt::format("{:>12}  {:>10}  {:>10.3f}  {:>10.3f}  {:>10.3f}  {:>10.3f}{}  {:>7}\n", result.size, iterations,
                     summary.min, summary.median, summary.p99, summary.average, cpu, wrong);
}

}  // namespace godwit::apps
