// Summary of repeated measurements. Pure.
#pragma once

#include <vector>

namespace godwit::apps {

struct Summary {
  double min = 0, median = 0, p99 = 0, average = 0;
};

/// In the unit of the samples; all zero without samples. Percentiles by nearest rank; the median of an even
/// number is the mean of the middle two. Sorts `samples`.
Summary summarize(std::vector<double>& samples);

}  // namespace godwit::apps
