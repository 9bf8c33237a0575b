#include "tool/perf/perftest_table.hpp"

#include "tool/perf/table.hpp"

#include <fmt/format.h>

namespace godwit::apps {

namespace {

constexpr double mega = 1024.0 * 1024.0;  // perftest's MB
constexpr int width = 87;

/// "RDMA_Write Bidirectional BW Test"
std::string title_of(const PerfOptions& options) {
  std::string title(options.test.title);
  if (options.bidirectional) title.insert(title.find("BW"), "Bidirectional ");
  constexpr std::string_view add = "FETCH_AND_ADD";
  if (const auto at = title.find(add); options.atomic.swaps && at != title.npos)
    title.replace(at, add.size(), "CMP_AND_SWAP");
  return title;
}

std::string two(std::string_view a, std::string_view a_value, std::string_view b, std::string_view b_value) {
  return fmt::format(" {:<16}: {:<13} {:<15}: {}\n", a, a_value, b, b_value);
}

std::string number(const std::optional<int>& value, std::string_view unit = "") {
  return value ? fmt::format("{}{}", *value, unit) : "automatic";
}

std::string adapter_lines(const AdapterWords& adapter) {
  std::string device = adapter.device.empty() ? "automatic" : adapter.device;
  if (adapter.port) device += fmt::format(" port {}", *adapter.port);
  return two("Device", device, "Number of qps", number(adapter.queue_pairs)) +
         two("Mtu", number(adapter.mtu, "[B]"), "GID index", number(adapter.gid_index)) +
         two("Max inline data", number(adapter.inline_bytes, "[B]"), "rdma_cm QPs",
             adapter.rdma_cm ? "ON" : "automatic");
}

std::string unit_line(const PerfOptions& options) {
  if (options.test.measured == Measured::bandwidth)
    return fmt::format(" MB: 2^20 bytes; peak: the best stretch of the run{}\n",
                       options.bidirectional ? "; both directions added up" : "");
  const bool half = options.test.exchanged == Exchanged::write || options.test.exchanged == Exchanged::send;
  return fmt::format(" latency: {}; typical: the median\n", half ? "half a round trip" : "until the data is there");
}

}  // namespace

std::string perftest_rule() { return std::string(width, '-') + "\n"; }

std::string perftest_heading(const PerfOptions& options, const PerftestFacts& facts) {
  std::string text = perftest_rule() + fmt::format("{:20}{}\n", "", title_of(options));
  text += two("Version", "godwit " + facts.version, "Transport", facts.transport);
  if (!adapter_options(options.adapter).empty() || facts.transport == "verbs") text += adapter_lines(options.adapter);
  const bool bandwidth = options.test.measured == Measured::bandwidth;
  if (bandwidth)
    text += two("TX depth", fmt::format("{}", options.depth), "Post list", fmt::format("{}", options.post_list));
  text += two("Memory", memory_word(options.memory), "Thread mode",
              options.thread_mode == ThreadMode::single ? "single" : "multiple");
  for (const std::string& line : facts.lines) text += fmt::format(" {}\n", line);
  return text + unit_line(options) + perftest_rule() + perftest_columns(options.test.measured);
}

std::string perftest_columns(Measured measured) {
  if (measured == Measured::bandwidth)
    return fmt::format(" {:<10} {:<14} {:<18} {:<20} {}\n", "#bytes", "#iterations", "BW peak[MB/sec]",
                       "BW average[MB/sec]", "MsgRate[Mpps]");
  return fmt::format(" {:<8} {:<13} {:<13} {:<13} {:<16} {:<13} {:<15} {:<22} {}\n", "#bytes", "#iterations",
                     "t_min[usec]", "t_max[usec]", "t_typical[usec]", "t_avg[usec]", "t_stdev[usec]",
                     "99% percentile[usec]", "99.9% percentile[usec]");
}

std::string perftest_line(Measured measured, const PerftestRow& row) {
  if (measured == Measured::bandwidth)
    return fmt::format(" {:<10} {:<14} {:<18.2f} {:<20.2f} {:.6f}\n", row.bytes, row.iterations, row.peak_Bps / mega,
                       row.average_Bps / mega, row.operations_per_s / 1e6);
  return fmt::format(" {:<8} {:<13} {:<13.3f} {:<13.3f} {:<16.3f} {:<13.3f} {:<15.3f} {:<22.3f} {:.3f}\n", row.bytes,
                     row.iterations, row.min_us, row.max_us, row.typical_us, row.average_us, row.deviation_us,
                     row.p99_us, row.p99_9_us);
}

std::string sample_lines(std::span<const double> samples_us) {
  std::string text = "#, usec\n";
  for (std::size_t i = 0; i < samples_us.size(); ++i) text += fmt::format("{}, {:.3f}\n", i + 1, samples_us[i]);
  return text;
}

Result to_result(const PerfOptions& options, const PerftestRow& row) {
  Result result{.size = row.bytes, .iterations = row.iterations};
  if (options.test.measured == Measured::bandwidth) {
    result.bandwidth_MBps = row.average_Bps / 1e6;
    result.bandwidth_peak_MBps = row.peak_Bps / 1e6;
    result.messages_per_s = row.operations_per_s;
  } else {
    result.latency_us = Summary{
        .min = row.min_us,
        .median = row.typical_us,
        .p99 = row.p99_us,
        .average = row.average_us,
        .tails = Tails{.max = row.max_us, .deviation = row.deviation_us, .p99_9 = row.p99_9_us},
    };
  }
  if (options.checks > 0) result.wrong = row.wrong;
  return result;
}

}  // namespace godwit::apps
