#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace godwit::apps {

Summary summarize(std::vector<double>& samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const std::size_t n = samples.size();
  return {.min = samples.front(),
          .median = n % 2 == 1 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2,
          .p99 = percentile(samples, 0.99),
          .average = std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(n)};
}

double percentile(std::span<const double> sorted, double part) {
  if (sorted.empty()) return 0;
  const auto nearest_rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(nearest_rank, 1, sorted.size()) - 1];
}

double standard_deviation(std::span<const double> samples) {
  if (samples.empty()) return 0;
  const auto n = static_cast<double>(samples.size());
  const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / n;
  double squares = 0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  return std::sqrt(squares / n);
}

}  // namespace godwit::apps
