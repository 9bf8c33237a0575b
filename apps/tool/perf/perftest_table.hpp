// The heading and the table of `godwit perf` in perftest's form: its columns, because scripts read them. Pure.
#pragma once

#include "common/report.hpp"
#include "tool/perf/options.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace godwit::apps {

/// One size. A plain value: the side that measured sends it to the other.
struct PerftestRow {
  std::uint64_t bytes = 0;
  std::int64_t iterations = 0;
  double min_us = 0, max_us = 0, typical_us = 0, average_us = 0, deviation_us = 0, p99_us = 0, p99_9_us = 0;
  double peak_Bps = 0, average_Bps = 0, operations_per_s = 0;
  std::uint64_t wrong = 0;  // bytes that failed the check
};

/// What the heading says beyond the options.
struct PerftestFacts {
  std::string version, transport;
  std::vector<std::string> lines = {};  // who takes part, the route, protocols, advice
};

std::string perftest_heading(const PerfOptions& options, const PerftestFacts& facts);
/// With its newline, as all that follow.
std::string perftest_columns(Measured measured);
std::string perftest_line(Measured measured, const PerftestRow& row);
/// What ends the table.
std::string perftest_rule();
/// A line for each sample.
std::string sample_lines(std::span<const double> samples_us);

Result to_result(const PerfOptions& options, const PerftestRow& row);

}  // namespace godwit::apps
