#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace godwit::apps {

Summary summarize(std::vector<double>& samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const std::size_t n = samples.size();
  const auto nearest_rank = static_cast<std::size_t>(std::ceil(0.99 * static_cast<double>(n)));
  return {.min = samples.front(),
          .median = n % 2 == 1 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2,
          .p99 = samples[std::clamp<std::size_t>(nearest_rank, 1, n) - 1],
          .average = std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(n)};
}

}  // namespace godwit::apps
