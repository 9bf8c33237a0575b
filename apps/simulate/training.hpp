// A step of data-parallel training: gradients are summed bucket by bucket while the backward pass goes on. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace godwit::apps {

struct TrainingStep {
  std::size_t buckets = 0;
  double compute_s = 0;
  double communication_s = 0;  // all allreduces, one after the other
  double step_s = 0;           // until the last gradient is there
  /// compute / (compute + what communication adds).
  double efficiency() const noexcept { return compute_s / step_s; }
  double without_overlap() const noexcept { return compute_s / (compute_s + communication_s); }
};

/// The backward pass takes two thirds of `compute_s` and yields gradients at an even pace; a bucket's allreduce begins
/// when it is full and the one before is done, and does not slow the computation down. `allreduce_s`: seconds for so
/// many bytes.
TrainingStep training_step(std::uint64_t gradient_bytes, std::size_t bucket_bytes, double compute_s,
                           const std::function<double(std::size_t)>& allreduce_s);

}  // namespace godwit::apps
