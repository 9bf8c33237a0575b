#include "collective_perf/timing.hpp"

#include "common/batches.hpp"

#include <chrono>
#include <optional>
#include <vector>

namespace godwit::apps {

namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

/// The operation of a case, ready to be repeated.
class Call {
 public:
  Call(Communicator& communicator, const Case& what, const Operands& operands)
      : communicator_(communicator),
        collective_(collective_of(what.benchmark)),
        call_(call_of(what, communicator.size(), operands)) {
    const int ranks = communicator.size();
    ring_bytes_ = call_.count * size_of(what.type);
    to_ = (communicator.rank() + 1) % ranks;
    from_ = (communicator.rank() + ranks - 1) % ranks;
  }

  void run() {
    if (collective_) return communicator_.collective(call_);
    Request incoming = communicator_.irecv_bytes(call_.recv, ring_bytes_, from_);
    communicator_.send_bytes(call_.send, ring_bytes_, to_);
    incoming.wait();
  }

  /// Starts without waiting.
  void start(std::vector<Request>& requests) {
    if (collective_) return requests.push_back(communicator_.icollective(call_));
    requests.push_back(communicator_.irecv_bytes(call_.recv, ring_bytes_, from_));
    requests.push_back(communicator_.isend_bytes(call_.send, ring_bytes_, to_));
  }

 private:
  Communicator& communicator_;
  std::optional<Collective> collective_;
  CollectiveCall call_;
  std::size_t ring_bytes_ = 0;
  Rank to_ = 0, from_ = 0;
};

/// One iteration: `aggregate` operations, waited for as -z says.
void iterate(Communicator& communicator, Call& call, const CollectiveOptions& options) {
  const bool in_flight = options.blocking == Blocking::per_group || options.blocking == Blocking::barrier_untimed;
  if (in_flight && options.aggregate > 1) {
    std::vector<Request> requests;
    requests.reserve(2 * static_cast<std::size_t>(options.aggregate));
    for (int i = 0; i < options.aggregate; ++i) call.start(requests);
    return wait_all(requests);
  }
  for (int i = 0; i < options.aggregate; ++i) {
    call.run();
    if (options.blocking == Blocking::barrier_per_call) communicator.barrier();
  }
}

double over_ranks(Communicator& communicator, double own, Average average) {
  switch (average) {
    case Average::rank0: break;
    case Average::mean: communicator.allreduce(own, avg); break;
    case Average::min: communicator.allreduce(own, min); break;
    case Average::max: communicator.allreduce(own, max); break;
  }
  return own;
}

/// The whole loop is timed; iterations are summed up by Batches.
Timing time_loop(Communicator& communicator, Call& call, const CollectiveOptions& options, std::size_t bytes,
                 Progress& progress) {
  Batches batches(options.iterations);
  const Clock::time_point start = Clock::now();
  while (const long batch = batches.next()) {
    progress.update(bytes, batches.done(), options.iterations);
    for (long i = 0; i < batch; ++i) iterate(communicator, call, options);
    batches.ran(seconds(Clock::now() - start));
  }
  const Summary summary = batches.summary(1e6 / options.aggregate);
  return {.seconds = summary.average * 1e-6, .latency_us = summary};
}

/// Each iteration is timed, and followed by a barrier that is not.
Timing time_each(Communicator& communicator, Call& call, const CollectiveOptions& options, std::size_t bytes,
                 Progress& progress) {
  std::vector<double> samples_us;
  samples_us.reserve(static_cast<std::size_t>(options.iterations));
  for (int i = 0; i < options.iterations; ++i) {
    progress.update(bytes, i, options.iterations);
    const Clock::time_point before = Clock::now();
    iterate(communicator, call, options);
    samples_us.push_back(seconds(Clock::now() - before) * 1e6 / options.aggregate);
    communicator.barrier();
  }
  const Summary summary = summarize(samples_us);
  return {.seconds = summary.average * 1e-6, .latency_us = summary};
}

}  // namespace

Timing time_case(Communicator& communicator, const Case& what, const CollectiveOptions& options,
                 const Operands& operands, Progress& progress) {
  Call call(communicator, what, operands);
  write_neutral(what, communicator.size(), operands);
  for (int i = 0; i < options.warmup; ++i) iterate(communicator, call, options);
  communicator.barrier();
  const bool each = options.blocking == Blocking::barrier_untimed;
  Timing timing = (each ? time_each : time_loop)(communicator, call, options, what.bytes, progress);
  timing.seconds = over_ranks(communicator, timing.seconds, options.average);
  return timing;
}

std::uint64_t check_case(Communicator& communicator, const Case& what, std::uint64_t seed, const Operands& operands) {
  const int rank = communicator.rank(), ranks = communicator.size();
  write_input(what, rank, ranks, seed, operands);
  Call(communicator, what, operands).run();
  std::uint64_t wrong = count_wrong(what, rank, ranks, seed, operands);
  communicator.allreduce(wrong, sum);
  return wrong;
}

}  // namespace godwit::apps
