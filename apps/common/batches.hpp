// Decides when a timed loop looks at the clock. Pure; one thread.
//
// A look at the clock costs tens of nanoseconds, as much as the fastest operations. So a loop runs a batch of
// iterations between two looks, and a sample is the mean of iterations that took at least 20 us together: the clock is
// then less than 0.2 % of it. Percentiles are percentiles of such samples. The average is the whole loop's time
// divided by its iterations.
#pragma once

#include "common/statistics.hpp"

#include <algorithm>
#include <vector>

namespace godwit::apps {

class Batches {
 public:
  static constexpr double default_least_s = 20e-6;

  explicit Batches(long iterations, double least_s = default_least_s) : iterations_(iterations), least_s_(least_s) {}

  /// How many iterations to run before the next look at the clock; 0: all have been run.
  long next() const noexcept { return std::min(batch_, iterations_ - done_); }
  long done() const noexcept { return done_; }

  /// next() iterations have run, and `now_s` seconds have passed since the loop began. A batch that was too short for
  /// a sample becomes part of a longer one, and so do those after it.
  void ran(double now_s);

  /// Of one iteration, each times `scale`. Iterations at the end that were too few for a sample count in the average
  /// only, unless there is no other sample.
  Summary summary(double scale) const;
  const std::vector<double>& samples_s() const noexcept { return samples_s_; }

 private:
  long iterations_;
  double least_s_;
  long batch_ = 1, done_ = 0;
  long sample_iterations_ = 0;
  double sample_begin_s_ = 0, now_s_ = 0;
  std::vector<double> samples_s_;
};

}  // namespace godwit::apps
