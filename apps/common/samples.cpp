#include "common/samples.hpp"

namespace godwit::apps {

Samples::Samples(long expected, std::size_t most) : most_(std::max<std::size_t>(most, 2)) {
  kept_.reserve(std::min(most_, static_cast<std::size_t>(std::max(expected, 0L))));  // not within the timed loop
}

void Samples::thin() {
  std::size_t left = 0;
  for (std::size_t i = 0; i < kept_.size(); i += 2) kept_[left++] = kept_[i];
  kept_.resize(left);
  stride_ *= 2;
}

Summary Samples::summary(double scale) const {
  if (count_ == 0) return {};
  std::vector<double> scaled;
  scaled.reserve(kept_.size());
  for (const std::uint64_t sample : kept_) scaled.push_back(static_cast<double>(sample) * scale);
  Summary summary = summarize(scaled);
  summary.tails = Tails{.max = static_cast<double>(greatest_) * scale,
                        .deviation = standard_deviation(scaled),
                        .p99_9 = percentile(scaled, 0.999)};
  summary.min = static_cast<double>(least_) * scale;
  summary.average = static_cast<double>(sum_) / static_cast<double>(count_) * scale;
  return summary;
}

}  // namespace godwit::apps
