// The timed loops of `godwit perf`. Both ranks of a pair call them together; times are those of the origin.
#pragma once

#include "common/progress.hpp"
#include "common/statistics.hpp"
#include "tool/perf/exchange.hpp"

#include <memory>
#include <span>

namespace godwit::apps {

/// One size of a test.
struct Work {
  std::size_t bytes = 0;
  int iterations = 0, warmup = 0;
};

/// One operation: half a round trip, or a whole one-sided operation. See common/batches.hpp for what the percentiles
/// are made of.
Summary measure_latency_us(Exchange& exchange, Communicator& pair, const Work& work, Progress& progress);

/// What a thread of a rank works with.
struct Lane {
  Pair pair;
  std::unique_ptr<Exchange> exchange;
};

/// Messages of one lane, rounded up to whole windows.
long messages_of_lane(int iterations, int depth) noexcept;

/// Seconds from the common start until the last lane of this rank is through; 0 at targets. The first lane runs in
/// the calling thread, each other one in a thread of its own. Rethrows the first exception of a lane.
double measure_windows_s(std::span<Lane> lanes, const Work& work, int depth, Progress& progress);

struct Wake {
  Summary round_trip_us;   // from the ping until the answer is there
  double waiting_cpu = 0;  // CPU time of the waiting process by the time it waited; 1 is a core
};
Wake measure_wake(Exchange& exchange, Communicator& pair, const Work& work, int idle_ms, Progress& progress);

}  // namespace godwit::apps
