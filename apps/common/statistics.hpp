// Summary of repeated measurements. Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace godwit::apps {

struct Tails {
  double max = 0, deviation = 0, p99_9 = 0;
};

struct Summary {
  double min = 0, median = 0, p99 = 0, average = 0;
  std::optional<Tails> tails = {};  // where each iteration was timed by itself
};

/// In the unit of the samples, without tails; all zero without samples. Percentiles by nearest rank; the median of an
/// even number is the mean of the middle two. Sorts `samples`.
Summary summarize(std::vector<double>& samples);

/// By nearest rank, `part` from 0 to 1. 0 without samples.
double percentile(std::span<const double> sorted, double part);
/// Of these samples (not an estimate for others). 0 without samples.
double standard_deviation(std::span<const double> samples);

}  // namespace godwit::apps
