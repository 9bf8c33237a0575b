#include "simulate/training.hpp"

#include <algorithm>

namespace godwit::apps {

TrainingStep training_step(std::uint64_t gradient_bytes, std::size_t bucket_bytes, double compute_s,
                           const std::function<double(std::size_t)>& allreduce_s) {
  constexpr double backward = 2.0 / 3;
  TrainingStep step{.buckets = static_cast<std::size_t>((gradient_bytes + bucket_bytes - 1) / bucket_bytes),
                    .compute_s = compute_s,
                    .step_s = compute_s};
  const double whole = allreduce_s(static_cast<std::size_t>(std::min<std::uint64_t>(bucket_bytes, gradient_bytes)));
  double idle_from = 0;  // the network
  for (std::uint64_t done = 0; done < gradient_bytes;) {
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(bucket_bytes, gradient_bytes - done));
    done += bytes;
    const double ready =
        compute_s * (1 - backward + backward * static_cast<double>(done) / static_cast<double>(gradient_bytes));
    const double takes = bytes == bucket_bytes ? whole : allreduce_s(bytes);
    step.communication_s += takes;
    idle_from = std::max(idle_from, ready) + takes;
  }
  step.step_s = std::max(step.step_s, idle_from);
  return step;
}

}  // namespace godwit::apps
