#include "tool/perf/runner.hpp"

#include "common/buffers.hpp"
#include "common/job.hpp"
#include "common/memory.hpp"
#include "common/progress.hpp"
#include "common/together.hpp"
#include "tool/perf/exchange.hpp"
#include "tool/perf/table.hpp"

#include <fmt/format.h>
#include <godwit/version.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace godwit::apps {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// The pair of this rank, or an empty handle if it rests. Collective.
Communicator make_pair(Communicator& world, bool latency) {
  const int pairs = latency ? 1 : world.size() / 2;
  const int rank = world.rank();
  return world.split(rank < 2 * pairs ? rank % pairs : -1, rank);
}

class PerfRun {
 public:
  PerfRun(Context& context, const PerfOptions& options)
      : context_(context), world_(context.world()), options_(options), progress_(world_.rank() == 0) {
    if (world_.size() < 2)
      fail_together(world_, 2,
                    fmt::format("perf {} needs two ranks, this job has one; try: godwit run -n 2 -- godwit perf {}",
                                options.test.name, options.test.name));
  }

  int run() {
    const auto file = open_report(world_, options_.json_file);
    const std::vector<Seat> seats = gather_seats(world_);
    const MemoryPlan plan = plan_memory_together(world_, seats, options_.sizes.first, options_.sizes.last);
    options_.sizes.last = plan.last;
    print(heading(seats, plan.note));
    measure_sizes();
    if (world_.rank() == 0) {
      report_.transport = transports_in_use(world_, seats);
      report_.tool = fmt::format("godwit perf {}", options_.test.name);
      report_.version = version();
      report_.ranks = world_.size();
      report_.hosts = static_cast<int>(first_of_each_host(seats).size());
      file->write(report_);
    }
    world_.barrier();
    return wrong_ == 0 ? 0 : 1;
  }

 private:
  void print(std::string_view text) {
    if (world_.rank() != 0) return;
    progress_.erase();
    fmt::print("{}", text);
    std::fflush(stdout);
  }

  std::string heading(const std::vector<Seat>& seats, const std::string& note) const {
    std::string text =
        fmt::format("{}\n# {}: {}\n{}", context_.banner(), options_.test.name, options_.test.help, seat_lines(seats));
    if (!note.empty()) text += fmt::format("# {}\n", note);
    return text + perf_heading(options_.test.latency);
  }

  void measure_sizes() {
    const std::size_t capacity = std::max<std::size_t>(options_.sizes.largest(), 64);
    const Buffer out = make_buffer(capacity), in = make_buffer(capacity);
    Pair pair{.context = context_,
              .communicator = make_pair(world_, options_.test.latency),
              .out = {out.get(), capacity},
              .in = {in.get(), capacity}};
    const auto exchange = pair.communicator ? make_exchange(options_.test.exchanged, pair) : nullptr;
    for (std::optional<std::size_t> size = options_.sizes.first; size; size = options_.sizes.next(*size))
      measure(*size, exchange.get(), pair.communicator);
  }

  void measure(std::size_t bytes, Exchange* exchange, Communicator& pair) {
    Result result{.size = bytes};
    const long done = options_.test.latency ? latency(result, exchange, pair) : bandwidth(result, exchange, pair);
    if (options_.checks > 0) result.wrong = check(bytes, exchange);
    print(perf_line(options_.test.latency, done, result));
    report_.results.push_back(std::move(result));
  }

  /// Returns the number of iterations.
  long latency(Result& result, Exchange* exchange, Communicator& pair) {
    const int iterations = options_.iterations_for(result.size);
    if (!exchange) return iterations;
    for (int i = 0; i < options_.warmup; ++i) exchange->once(result.size);
    pair.barrier();
    std::vector<double> samples_us;
    samples_us.reserve(static_cast<std::size_t>(iterations));
    const double share = exchange->round_trip() ? 0.5 : 1;
    for (int i = 0; i < iterations; ++i) {
      progress_.update(result.size, i, iterations);
      const Clock::time_point start = Clock::now();
      exchange->once(result.size);
      samples_us.push_back(seconds_since(start) * 1e6 * share);
    }
    pair.barrier();
    result.latency_us = summarize(samples_us);
    return iterations;
  }

  /// Returns the number of messages of all pairs.
  long bandwidth(Result& result, Exchange* exchange, Communicator& pair) {
    const auto windows = [depth = options_.depth](int messages) { return (messages + depth - 1) / depth; };
    const int rounds = windows(options_.iterations_for(result.size));
    double elapsed = 0;
    if (exchange) {
      for (int i = 0; i < windows(options_.warmup); ++i) exchange->window(result.size, options_.depth);
      exchange->finish();
      pair.barrier();
      const Clock::time_point start = Clock::now();
      for (int i = 0; i < rounds; ++i) {
        progress_.update(result.size, i, rounds);
        exchange->window(result.size, options_.depth);
      }
      exchange->finish();
      elapsed = seconds_since(start);
      if (pair.rank() != 0) elapsed = 0;  // the origin's clock counts
      pair.barrier();
    }
    world_.allreduce(elapsed, max);
    const long messages = static_cast<long>(rounds) * options_.depth * (world_.size() / 2);
    result.messages_per_s = elapsed > 0 ? static_cast<double>(messages) / elapsed : 0;
    result.bandwidth_MBps = *result.messages_per_s * static_cast<double>(result.size) / 1e6;
    return messages;
  }

  std::uint64_t check(std::size_t bytes, Exchange* exchange) {
    std::uint64_t wrong = 0;
    for (int i = 0; i < options_.checks; ++i, ++seed_)
      if (exchange) wrong += exchange->check(bytes, seed_);
    world_.allreduce(wrong, sum);
    wrong_ += wrong;
    return wrong;
  }

  Context& context_;
  Communicator world_;
  PerfOptions options_;
  Progress progress_;
  Report report_;
  std::uint64_t wrong_ = 0;
  std::uint64_t seed_ = 1;
};

}  // namespace

int run_perf(Context& context, const PerfOptions& options) { return PerfRun(context, options).run(); }

}  // namespace godwit::apps
