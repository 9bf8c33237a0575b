// The reference runtime against the others, size by size. Pure.
#pragma once

#include "report/document.hpp"

#include <optional>
#include <string>
#include <vector>

namespace godwit::apps::report {

struct RatioRow {
  std::string x;
  std::vector<std::optional<double>> medians;  // by runtime
  /// Median of the reference divided by that of each runtime; nothing for itself, for missing and for zero ones.
  std::vector<std::optional<double>> ratios;
  std::optional<double> to_best;  // divided by that of the best rival
};

struct RatioTable {
  std::vector<std::string> runtimes;         // the reference first
  std::vector<RatioRow> rows;                // by x; categories in the order of the chart
  std::vector<std::optional<double>> means;  // geometric, by runtime
  std::optional<double> mean_to_best, worst_to_best;
  bool lower_is_better = true;
};

/// If the chart lacks the reference its first series is it.
RatioTable ratio_table(const Chart& chart, const std::string& reference);

/// Is this ratio in favour of the reference? Equality is.
bool favourable(double ratio, bool lower_is_better) noexcept;

}  // namespace godwit::apps::report
