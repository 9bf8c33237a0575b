#include "tool/perf/perftest_run.hpp"

#include "common/buffers.hpp"
#include "common/job.hpp"
#include "common/together.hpp"
#include "runtime/inspect.hpp"
#include "tool/perf/perftest_measure.hpp"
#include "tool/perf/perftest_table.hpp"
#include "tool/perf/table.hpp"

#include <fmt/format.h>
#include <godwit/version.hpp>

#include <algorithm>
#include <cstdio>

namespace godwit::apps {

namespace {

class PerftestRun {
 public:
  PerftestRun(Context& context, Communicator world, const PerfOptions& options, const PerftestSides& sides,
              RunReport* files)
      : context_(context),
        world_(std::move(world)),
        options_(options),
        sides_(sides),
        files_(files),
        prints_(world_.rank() == 0 || (world_.rank() == 1 && sides.both_print)),
        progress_(prints_) {}

  int run() {
    const std::vector<Seat> seats = gather_seats(world_);
    const MemoryPlan plan =
        plan_memory_together(world_, seats, options_.sizes.smallest(), options_.sizes.last(), 2, perf_size_flags);
    options_.sizes.cut(plan.last);
    pair_ = world_.split(world_.rank() < 2 ? 0 : -1, world_.rank());
    if (pair_) measure_pair(seats, plan.note);
    world_.broadcast(wrong_, 0);  // those who rest wait here
    return wrong_ == 0 ? 0 : 1;
  }

 private:
  void measure_pair(const std::vector<Seat>& seats, const std::string& note) {
    // One after the other reaches for the route, while the other one waits.
    if (pair_.rank() == 0) facts_ = gather_facts(seats, note);
    pair_.barrier();
    if (pair_.rank() == 1) facts_ = gather_facts(seats, note);
    pair_.barrier();
    measure_sizes();
    if (!options_.json_to_stdout) print(perftest_rule());
    write_report(seats);
  }

  PerftestFacts gather_facts(const std::vector<Seat>& seats, const std::string& note) const {
    const Rank other = 1 - pair_.rank();
    const std::string table = runtime::protocol_table(pair_, other);  // begins with a line on the route
    PerftestFacts facts{.version = std::string(version()), .transport = runtime::transport_name_to(pair_, other)};
    const auto who = [&seats](const std::string& name, std::size_t rank) {
      const Seat& seat = seats[rank];
      return fmt::format("{}: host {}, pid {}, {}", name, seat.host.data(), seat.pid, cpus_text(seat.cpus));
    };
    facts.lines = {who(sides_.origin, 0), who(sides_.target, 1), table.substr(0, table.find('\n'))};
    const auto add_lines = [&facts](std::string text) {  // "# ...\n# ...\n", as our own form prints them
      for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        facts.lines.push_back(text.substr(begin + 2, end - begin - 2));
        begin = end + 1;
      }
    };
    // By the job's ranks, as the line on the route has them.
    add_lines(protocol_lines(context_.world(), 1 - context_.rank(), operations_of(options_)));
    add_lines(sharing_lines(seats, 2));
    if (!note.empty()) facts.lines.push_back(note);
    return facts;
  }

  void measure_sizes() {
    const std::size_t capacity = std::max<std::size_t>(options_.sizes.largest(), 64);
    const Buffer out = make_buffer(capacity, options_.memory), in = make_buffer(capacity, options_.memory);
    Pair pair{.context = context_,
              .communicator = pair_,
              .out = {out.get(), capacity},
              .in = {in.get(), capacity},
              .atomic = options_.atomic};
    const auto exchange = make_exchange(options_.test.exchanged, pair);
    if (const std::string note = exchange->note(); !note.empty()) facts_.lines.push_back(note);
    if (!options_.json_to_stdout) print(perftest_heading(options_, facts_));
    options_.sizes.for_each([&](std::size_t bytes) { measure(bytes, *exchange); });
    pair_.barrier();  // nobody's window goes while the other one may still reach for it
  }

  void measure(std::size_t bytes, Exchange& exchange) {
    PerftestRow row =
        options_.test.measured == Measured::bandwidth ? bandwidth(bytes, exchange) : latency(bytes, exchange);
    row.wrong = check(bytes, exchange);
    pair_.broadcast(row, 0);
    rows_.push_back(row);
    if (options_.json_to_stdout) return;
    print(perftest_line(options_.test.measured, row));
    if (row.wrong > 0) print(fmt::format(" {} bytes of {} were wrong in the check\n", row.wrong, bytes));
  }

  PerftestRow latency(std::size_t bytes, Exchange& exchange) {
    const auto run = [&](long iterations) { return run_latency(exchange, pair_, bytes, iterations, progress_); };
    long n = options_.iterations_for(bytes);
    if (options_.duration_s > 0)
      n = iterations_in(options_.duration_s, pair_, [&](long count) { return run(count).elapsed_s; });
    else if (options_.warmup_for(bytes) > 0)
      run(options_.warmup_for(bytes));
    const LatencyRun timed = run(n);
    const double us_per_tick = timed.seconds_per_tick * (exchange.round_trip() ? 0.5e6 : 1e6);
    const Summary summary = timed.samples.summary(us_per_tick);
    const Tails tails = summary.tails.value_or(Tails{});
    if (options_.each_sample && world_.rank() == 0 && !options_.json_to_stdout) print_samples(timed, us_per_tick);
    return {.bytes = bytes,
            .iterations = n,
            .min_us = summary.min,
            .max_us = tails.max,
            .typical_us = summary.median,
            .average_us = summary.average,
            .deviation_us = tails.deviation,
            .p99_us = summary.p99,
            .p99_9_us = tails.p99_9};
  }

  void print_samples(const LatencyRun& timed, double us_per_tick) {
    std::vector<double> samples_us;
    for (const std::uint64_t sample : timed.samples.kept())
      samples_us.push_back(static_cast<double>(sample) * us_per_tick);
    if (!options_.unsorted) std::sort(samples_us.begin(), samples_us.end());
    print(sample_lines(samples_us));
  }

  PerftestRow bandwidth(std::size_t bytes, Exchange& exchange) {
    const auto run = [&](long iterations) {
      return run_stream(exchange, pair_,
                        {.bytes = bytes,
                         .iterations = iterations,
                         .depth = options_.depth,
                         .post_list = options_.post_list,
                         .bidirectional = options_.bidirectional},
                        progress_);
    };
    long n = options_.iterations_for(bytes);
    if (options_.duration_s > 0)
      n = iterations_in(options_.duration_s, pair_, [&](long count) { return run(count).elapsed_s; });
    else if (options_.warmup_for(bytes) > 0)
      run(options_.warmup_for(bytes));
    const StreamRun timed = run(n);
    const double ways = options_.bidirectional ? 2 : 1, size = static_cast<double>(bytes);
    const double rate = timed.elapsed_s > 0 ? ways * static_cast<double>(n) / timed.elapsed_s : 0;
    const double peak = timed.best_s_per_op > 0 ? ways / timed.best_s_per_op : rate;
    return {.bytes = bytes,
            .iterations = n,
            .peak_Bps = std::max(peak, rate) * size,
            .average_Bps = rate * size,
            .operations_per_s = rate};
  }

  std::uint64_t check(std::size_t bytes, Exchange& exchange) {
    std::uint64_t wrong = 0;
    for (int i = 0; i < options_.checks; ++i) wrong += exchange.check(bytes, seed_++);
    pair_.allreduce(wrong, sum);
    wrong_ += wrong;
    return wrong;
  }

  void write_report(const std::vector<Seat>& seats) {
    if (files_ == nullptr && !(options_.json_to_stdout && prints_)) return;
    Report report{.tool = fmt::format("godwit perf {}", options_.test.name),
                  .version = facts_.version,
                  .transport = facts_.transport};
    report.memory = memory_word(options_.memory);
    for (const PerftestRow& row : rows_) report.results.push_back(to_result(options_, row));
    if (files_ != nullptr) files_->write(report, world_, seats);
    if (!options_.json_to_stdout || !prints_) return;
    complete(report, world_, seats);
    print(to_json(report));
  }

  void print(std::string_view text) {
    if (!prints_) return;
    progress_.erase();
    fmt::print("{}", text);
    std::fflush(stdout);
  }

  Context& context_;
  Communicator world_, pair_;
  PerfOptions options_;
  PerftestSides sides_;
  RunReport* files_;
  bool prints_;
  Progress progress_;
  PerftestFacts facts_ = {};
  std::vector<PerftestRow> rows_;
  std::uint64_t wrong_ = 0, seed_ = 1;
};

}  // namespace

int run_perftest(Context& context, Communicator world, const PerfOptions& options, const PerftestSides& sides,
                 RunReport* files) {
  return PerftestRun(context, std::move(world), options, sides, files).run();
}

}  // namespace godwit::apps
