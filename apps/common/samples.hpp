// Times of single iterations in bounded memory, and what perftest says of them. Pure; one thread.
#pragma once

#include "common/statistics.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace godwit::apps {

/// Keeps each sample while there are at most `most`, then every second, every fourth, ...; least, greatest and sum are
/// always those of all. In the unit of what is added.
class Samples {
 public:
  static constexpr std::size_t default_most = std::size_t{1} << 20;

  explicit Samples(long expected, std::size_t most = default_most);

  void add(std::uint64_t sample) {
    least_ = std::min(least_, sample);
    greatest_ = std::max(greatest_, sample);
    sum_ += sample;
    if (count_++ % stride_ == 0) keep(sample);
  }

  long count() const noexcept { return count_; }
  /// In the order in which they came.
  const std::vector<std::uint64_t>& kept() const noexcept { return kept_; }
  /// Each times `scale`. Percentiles and deviation are those of what was kept.
  Summary summary(double scale) const;

 private:
  void keep(std::uint64_t sample) {
    if (kept_.size() == most_) thin();
    if ((count_ - 1) % stride_ == 0) kept_.push_back(sample);
  }
  void thin();

  std::size_t most_;
  long count_ = 0, stride_ = 1;
  std::uint64_t least_ = UINT64_MAX, greatest_ = 0, sum_ = 0;
  std::vector<std::uint64_t> kept_;
};

}  // namespace godwit::apps
