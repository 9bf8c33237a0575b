#include "tool/perf/perftest_measure.hpp"

#include "common/ticks.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace godwit::apps {

namespace {

constexpr long iterations_per_look = 1024;  // at the progress line

/// When the first operation of a stretch was started and the last one completed.
struct Stretch {
  std::uint64_t begin = 0, end = 0;
};

/// The least time per stretch of all runs of stretches that follow each other, as perftest defines its peak.
double best_ticks_per_stretch(const std::vector<Stretch>& stretches) {
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t first = 0; first < stretches.size(); ++first)
    for (std::size_t last = first; last < stretches.size(); ++last)
      best = std::min(best, static_cast<double>(stretches[last].end - stretches[first].begin) /
                                static_cast<double>(last - first + 1));
  return best;
}

/// Keeps `depth` operations in flight and completes them in order.
class Queue {
 public:
  Queue(Exchange& exchange, const Stream& stream, bool begins, bool expects)
      : exchange_(exchange),
        stream_(stream),
        begins_(begins),
        expects_(expects),
        out_(static_cast<std::size_t>(stream.depth)),
        in_(out_.size()),
        length_(std::max(1L, stream.iterations / most_stretches)),
        stretches_(static_cast<std::size_t>(stream.iterations / length_)) {}

  void run(Progress& progress) {
    const long n = stream_.iterations;
    for (long started = 0; started < n;) {
      const long batch = std::min<long>(stream_.post_list, n - started);
      for (long i = started; i < started + batch; ++i) complete(i - stream_.depth);
      for (long i = started; i < started + batch; ++i) start(i);
      if (started / iterations_per_look != (started + batch) / iterations_per_look)
        progress.update(stream_.bytes, started, n);
      started += batch;
    }
    for (long i = std::max(0L, n - stream_.depth); i < n; ++i) complete(i);
  }

  double best_ticks_per_op() const { return best_ticks_per_stretch(stretches_) / static_cast<double>(length_); }

 private:
  static constexpr long most_stretches = 1000;  // every pair of them is looked at

  std::size_t slot(long i) const { return static_cast<std::size_t>(i % stream_.depth); }

  void start(long i) {
    if (i % length_ == 0)
      if (Stretch* stretch = stretch_of(i)) stretch->begin = ticks();
    if (expects_) in_[slot(i)] = exchange_.expect(stream_.bytes);
    if (begins_) out_[slot(i)] = exchange_.begin(stream_.bytes);
  }

  void complete(long i) {
    if (i < 0) return;
    out_[slot(i)].wait();
    in_[slot(i)].wait();
    if (i % length_ == length_ - 1)
      if (Stretch* stretch = stretch_of(i)) stretch->end = ticks();
  }

  /// Null for what is left at the end and makes no whole stretch.
  Stretch* stretch_of(long i) {
    const auto index = static_cast<std::size_t>(i / length_);
    return index < stretches_.size() ? &stretches_[index] : nullptr;
  }

  Exchange& exchange_;
  const Stream& stream_;
  const bool begins_, expects_;
  std::vector<Request> out_, in_;
  const long length_;  // of a stretch
  std::vector<Stretch> stretches_;
};

}  // namespace

LatencyRun run_latency(Exchange& exchange, Communicator& pair, std::size_t bytes, long iterations, Progress& progress) {
  LatencyRun run{.samples = Samples(iterations)};
  exchange.prepare(bytes);
  pair.barrier();
  if (pair.rank() == 0 || exchange.round_trip()) {
    TickSpan span;
    span.start();
    std::uint64_t before = span.first();
    for (long i = 0; i < iterations; ++i) {
      if (i % iterations_per_look == iterations_per_look - 1) progress.update(bytes, i, iterations);
      exchange.once(bytes);
      const std::uint64_t now = ticks();
      run.samples.add(now - before);
      before = now;
    }
    span.stop();
    run.seconds_per_tick = span.seconds_per_tick();
    run.elapsed_s = span.seconds();
  }
  pair.barrier();
  return run;
}

StreamRun run_stream(Exchange& exchange, Communicator& pair, const Stream& stream, Progress& progress) {
  const bool is_origin = pair.rank() == 0;
  Queue queue(exchange, stream, is_origin || stream.bidirectional, !is_origin || stream.bidirectional);
  pair.barrier();
  TickSpan span;
  span.start();
  queue.run(progress);
  exchange.finish();
  span.stop();
  StreamRun run{.elapsed_s = span.seconds(), .best_s_per_op = queue.best_ticks_per_op() * span.seconds_per_tick()};
  if (stream.bidirectional) pair.allreduce(run.elapsed_s, max);
  pair.barrier();
  return run;
}

long iterations_in(double duration_s, Communicator& pair, const std::function<double(long)>& run) {
  constexpr long most = 1'000'000'000;
  const double enough_s = std::min(0.1, duration_s / 10);
  for (long n = 16;; n *= 4) {
    double elapsed_s = run(n);
    pair.broadcast(elapsed_s, 0);
    if (elapsed_s < enough_s && n < most) continue;
    const double wanted = static_cast<double>(n) * duration_s / std::max(elapsed_s, 1e-9);
    return std::clamp(static_cast<long>(std::min(wanted, static_cast<double>(most))), 1L, most);
  }
}

}  // namespace godwit::apps
