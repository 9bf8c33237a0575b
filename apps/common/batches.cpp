#include "common/batches.hpp"

namespace godwit::apps {

void Batches::ran(double now_s) {
  const long batch = next();
  done_ += batch;
  sample_iterations_ += batch;
  now_s_ = now_s;
  batch_ = sample_iterations_;  // until a sample is complete, each batch is as long as all before it
  if (now_s - sample_begin_s_ < least_s_) return;
  samples_s_.push_back((now_s - sample_begin_s_) / static_cast<double>(sample_iterations_));
  sample_begin_s_ = now_s;
  sample_iterations_ = 0;
}

Summary Batches::summary(double scale) const {
  if (done_ == 0) return {};
  std::vector<double> scaled = samples_s_;
  const double average = now_s_ / static_cast<double>(done_);
  if (scaled.empty()) scaled.push_back(average);
  for (double& sample : scaled) sample *= scale;
  Summary summary = summarize(scaled);
  summary.average = average * scale;
  return summary;
}

}  // namespace godwit::apps
