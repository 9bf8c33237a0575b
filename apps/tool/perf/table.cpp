#include "tool/perf/table.hpp"

#include "common/table.hpp"

#include <fmt/format.h>

namespace godwit::apps {

std::string_view memory_word(MemoryKind kind) noexcept { return kind == MemoryKind::shared ? "shared" : "private"; }

std::string options_line(const PerfOptions& options) {
  std::string text = fmt::format("# memory {} ({}); thread mode {}", memory_word(options.memory),
                                 options.memory == MemoryKind::shared ? "godwit::allocate" : "malloc",
                                 options.thread_mode == ThreadMode::single ? "single" : "multiple");
  switch (options.test.measured) {
    case Measured::latency:
      text += "; percentiles of means over at least 20 us, average of the whole loop";
      if (options.connect) text += "; every rank is connected to rank 0";
      break;
    case Measured::bandwidth:
      text += fmt::format("; {} in flight", options.depth);
      if (options.threads > 1)
        text += fmt::format(" in each of {} threads of a rank, each with a communicator of its own, all on one worker",
                            options.threads);
      break;
    case Measured::wake: text += fmt::format("; {} ms before each ping", options.idle_ms); break;
  }
  return text;
}

std::vector<std::string> operations_of(const PerfOptions& options) {
  switch (options.test.exchanged) {
    case Exchanged::send: return {"send"};
    case Exchanged::put:
    case Exchanged::write:
    case Exchanged::watched_put: return {"put"};
    case Exchanged::get: return {"get"};
    case Exchanged::active: return {"active message"};
    case Exchanged::atomic: return {options.atomic.swaps ? "compare_swap" : "fetch_add"};
  }
  return {};
}

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
