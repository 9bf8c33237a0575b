#include "tool/perf/runner.hpp"

#include "common/buffers.hpp"
#include "common/job.hpp"
#include "common/memory.hpp"
#include "common/progress.hpp"
#include "common/run_report.hpp"
#include "common/together.hpp"
#include "tool/perf/measure.hpp"
#include "tool/perf/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace godwit::apps {

namespace {

/// The ranks that measure at the same time; an empty handle for those who rest. Collective.
Communicator make_team(Communicator& world, bool one_pair) {
  const int pairs = one_pair ? 1 : world.size() / 2;
  return world.split(world.rank() < 2 * pairs ? 0 : -1, world.rank());
}

/// Rank i of the team and rank i + half. Collective over the team.
Communicator make_pair(Communicator& team) { return team.split(team.rank() % (team.size() / 2), team.rank()); }

class PerfRun {
 public:
  PerfRun(Context& context, Communicator world, const PerfOptions& options)
      : context_(context), world_(std::move(world)), options_(options), progress_(world_.rank() == 0) {}

  int run() {
    const auto files = open_run_report(world_, options_.json_file, options_.html_file);
    const std::vector<Seat> seats = gather_seats(world_);
    const MemoryPlan plan = plan_memory_together(world_, seats, options_.sizes.smallest(), options_.sizes.last(),
                                                 2 * static_cast<std::size_t>(options_.threads), perf_size_flags);
    options_.sizes.cut(plan.last);
    print(heading(seats, plan.note));
    if (options_.connect) connect_to_first();
    team_ = make_team(world_, options_.one_pair());
    if (team_) measure_sizes();
    world_.broadcast(wrong_, 0);  // those who rest wait here
    if (world_.rank() == 0) {
      report_.tool = fmt::format("godwit perf {}", options_.test.name);
      report_.memory = memory_word(options_.memory);
      report_.threads = options_.threads;
      files->write(std::move(report_), world_, seats);
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

  Rank peer_of_first() const { return options_.one_pair() ? 1 : world_.size() / 2; }

  /// Rank 0 reaches for its peer here; the others are on their way to make_team().
  std::string heading(const std::vector<Seat>& seats, const std::string& note) const {
    if (world_.rank() != 0) return {};
    std::string text = fmt::format("{}\n# {}: {}\n{}\n", context_.banner(), options_.test.name, options_.test.help,
                                   options_line(options_));
    text += protocol_lines(world_, peer_of_first(), operations_of(options_));
    text += seat_lines(seats) + sharing_lines(seats, options_.one_pair() ? 2 : seats.size());
    if (!note.empty()) text += fmt::format("# {}\n", note);
    return text;
  }

  /// Ranks from 2 on exchange a message with rank 0.
  void connect_to_first() {
    if (world_.rank() == 0)
      for (Rank rank = 2; rank < world_.size(); ++rank) {
        world_.send_bytes(nullptr, 0, rank);
        world_.recv_bytes(nullptr, 0, rank);
      }
    if (world_.rank() < 2) return;
    world_.recv_bytes(nullptr, 0, 0);
    world_.send_bytes(nullptr, 0, 0);
  }

  void measure_sizes() {
    const std::size_t capacity = std::max<std::size_t>(options_.sizes.largest(), 64);
    std::vector<Buffer> buffers;
    std::vector<Lane> lanes;
    const auto threads = static_cast<std::size_t>(options_.threads);
    lanes.reserve(threads);  // exchanges refer to their pair
    for (std::size_t i = 0; i < threads; ++i) {
      std::byte* const out = buffers.emplace_back(make_buffer(capacity, options_.memory)).get();
      std::byte* const in = buffers.emplace_back(make_buffer(capacity, options_.memory)).get();
      Pair pair{.context = context_,
                .communicator = make_pair(team_),
                .out = {out, capacity},
                .in = {in, capacity},
                .atomic = options_.atomic};
      Lane& lane = lanes.emplace_back(Lane{.pair = std::move(pair), .exchange = {}});
      lane.exchange = make_exchange(options_.test.exchanged, lane.pair);
    }
    if (const std::string note = lanes.front().exchange->note(); !note.empty()) print(fmt::format("# {}\n", note));
    print(perf_heading(options_.test.measured));
    options_.sizes.for_each([&](std::size_t bytes) { measure(bytes, lanes); });
  }

  void measure(std::size_t bytes, std::vector<Lane>& lanes) {
    Result result{.size = bytes};
    const Work work{.bytes = bytes, .iterations = options_.iterations_for(bytes), .warmup = options_.warmup_for(bytes)};
    Lane& first = lanes.front();
    long done = work.iterations;
    switch (options_.test.measured) {
      case Measured::latency:
        result.latency_us = measure_latency_us(*first.exchange, first.pair.communicator, work, progress_);
        break;
      case Measured::wake: {
        const Wake wake = measure_wake(*first.exchange, first.pair.communicator, work, options_.idle_ms, progress_);
        result.latency_us = wake.round_trip_us;
        result.waiting_cpu_percent = wake.waiting_cpu * 100;
        break;
      }
      case Measured::bandwidth: done = bandwidth(result, lanes, work); break;
    }
    if (options_.checks > 0) result.wrong = check(bytes, lanes);
    print(perf_line(options_.test.measured, done, result));
    report_.results.push_back(std::move(result));
  }

  /// Returns the number of messages of all pairs.
  long bandwidth(Result& result, std::vector<Lane>& lanes, const Work& work) {
    double elapsed = measure_windows_s(lanes, work, options_.depth, progress_);
    team_.allreduce(elapsed, max);
    const long messages = messages_of_lane(work.iterations, options_.depth) * options_.threads * (team_.size() / 2);
    result.messages_per_s = elapsed > 0 ? static_cast<double>(messages) / elapsed : 0;
    result.bandwidth_MBps = *result.messages_per_s * static_cast<double>(result.size) / 1e6;
    return messages;
  }

  std::uint64_t check(std::size_t bytes, std::vector<Lane>& lanes) {
    std::uint64_t wrong = 0;
    for (int i = 0; i < options_.checks; ++i, ++seed_)
      for (Lane& lane : lanes) wrong += lane.exchange->check(bytes, seed_);
    team_.allreduce(wrong, sum);
    wrong_ += wrong;
    return wrong;
  }

  Context& context_;
  Communicator world_, team_;
  PerfOptions options_;
  Progress progress_;
  Report report_;
  std::uint64_t wrong_ = 0;
  std::uint64_t seed_ = 1;
};

}  // namespace

int run_perf(Context& context, Communicator world, const PerfOptions& options) {
  return PerfRun(context, std::move(world), options).run();
}

}  // namespace godwit::apps
