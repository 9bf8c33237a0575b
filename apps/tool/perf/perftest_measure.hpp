// The timed loops of perftest's form: every iteration by itself, and a queue that is kept full. Both ranks of a pair
// call them together; times are those of the origin (rank 0).
#pragma once

#include "common/progress.hpp"
#include "common/samples.hpp"
#include "tool/perf/exchange.hpp"

#include <functional>

namespace godwit::apps {

struct LatencyRun {
  Samples samples;  // in ticks; a round trip where the exchange is one
  double seconds_per_tick = 0, elapsed_s = 0;
};
LatencyRun run_latency(Exchange& exchange, Communicator& pair, std::size_t bytes, long iterations, Progress& progress);

struct Stream {
  std::size_t bytes = 0;
  long iterations = 0;  // each way
  int depth = 1, post_list = 1;
  bool bidirectional = false;
};
struct StreamRun {
  double elapsed_s = 0;      // until the last has arrived; of the slower side if both start operations
  double best_s_per_op = 0;  // of the stretch that went best, one way
};
StreamRun run_stream(Exchange& exchange, Communicator& pair, const Stream& stream, Progress& progress);

/// How many iterations take about `duration_s`: `run` does so many and returns the origin's seconds. Collective.
long iterations_in(double duration_s, Communicator& pair, const std::function<double(long)>& run);

}  // namespace godwit::apps
