#include "collective_perf/runner.hpp"

#include "collective_perf/timing.hpp"
#include "common/buffers.hpp"
#include "common/job.hpp"
#include "common/memory.hpp"
#include "common/names.hpp"
#include "common/run_report.hpp"
#include "common/table.hpp"
#include "common/together.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <cstdio>
#include <numeric>

namespace godwit::apps {

namespace {

class Sweep {
 public:
  Sweep(Context& context, Benchmark benchmark, CollectiveOptions options)
      : world_(context.world()),
        benchmark_(benchmark),
        options_(std::move(options)),
        prints_(world_.rank() == 0),
        progress_(prints_) {}

  int run(const std::string& banner) {
    check_root();
    const auto files = open_run_report(world_, options_.json_file, options_.html_file);
    const std::vector<Seat> seats = gather_seats(world_);
    const std::string note = limit_memory(seats);
    allocate_buffers();
    print(heading(banner, seats, note));
    for (int cycle = 0; cycle < options_.cycles; ++cycle)
      for (DataType type : options_.types)
        for (ReduceOp op : ops())
          for (Rank root : roots()) sweep_sizes(type, op, root);
    print(table_footer(out_of_bounds_, average_bus_bandwidth()));
    if (prints_) {
      report_.tool = program_name(benchmark_);
      files->write(std::move(report_), world_, seats);
    }
    world_.barrier();
    return out_of_bounds_ == 0 ? 0 : 1;
  }

 private:
  void print(std::string_view text) {
    if (!prints_) return;
    progress_.erase();
    fmt::print("{}", text);
    std::fflush(stdout);
  }

  std::vector<ReduceOp> ops() const { return has_reduction(benchmark_) ? options_.ops : std::vector{ReduceOp::sum}; }

  void check_root() {
    if (has_root(benchmark_) && options_.root && *options_.root >= world_.size())
      fail_together(
          world_, 2,
          fmt::format("-r {}: there are {} ranks, 0 to {}", *options_.root, world_.size(), world_.size() - 1));
  }

  std::vector<Rank> roots() const {
    if (!has_root(benchmark_)) return {0};
    if (options_.root) return {*options_.root};
    std::vector<Rank> all(static_cast<std::size_t>(world_.size()));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  std::size_t displacement() const { return static_cast<std::size_t>(options_.unalign) * 8; }

  /// Cuts the sweep to what fits into memory; returns words about it, if it had to.
  std::string limit_memory(const std::vector<Seat>& seats) {
    const SizeRange& sizes = options_.sizes;
    const MemoryPlan plan =
        plan_memory_together(world_, seats, sizes.first + displacement(), sizes.last + displacement());
    options_.sizes.last = plan.last - displacement();
    return plan.note;
  }

  void allocate_buffers() {
    const std::size_t bytes = options_.sizes.largest() + displacement();
    send_ = make_buffer(bytes);
    recv_ = make_buffer(bytes);
  }

  /// Rank 0 reaches for rank 1 here; the others are on their way to the first collective.
  std::string heading(const std::string& banner, const std::vector<Seat>& seats, const std::string& note) const {
    if (!prints_) return {};
    const SizeRange& sizes = options_.sizes;
    std::string text = fmt::format(
        "{}\n# {}: {} to {} bytes, {} {}; iterations {} warm-up + {} timed, {} in flight; checked iterations {}; "
        "memory shared (godwit::allocate)\n{}{}{}",
        banner, program_name(benchmark_), sizes.first, sizes.last, sizes.factor > 1 ? "factor" : "step",
        sizes.factor > 1 ? sizes.factor : sizes.step, options_.warmup, options_.iterations, options_.aggregate,
        options_.checks, world_.size() > 1 ? protocol_lines(world_, 1, {"send"}) : "", seat_lines(seats),
        sharing_lines(seats, seats.size()));
    if (!note.empty()) text += fmt::format("# {}\n", note);
    return text + "#\n" + table_heading();
  }

  void sweep_sizes(DataType type, ReduceOp op, Rank root) {
    std::optional<std::size_t> bytes = options_.sizes.first;
    for (; bytes; bytes = options_.sizes.next(*bytes, size_of(type))) {
      Case what{.benchmark = benchmark_, .bytes = *bytes, .type = type, .op = op, .root = root};
      const Shape shape = what.shape(world_.size());
      const LineHead head{.bytes = std::max(shape.send, shape.recv) * size_of(type),
                          .count = shape.count,
                          .type = to_string(type),
                          .redop = has_reduction(benchmark_) ? to_string(op) : "none",
                          .root = has_root(benchmark_) ? root : -1};
      const Measurement out_of_place = measure(what, head);
      what.in_place = true;
      const Measurement in_place = measure(what, head);
      print(table_line(head, out_of_place, in_place) + "\n");
    }
  }

  Operands operands(const Case& what) const {
    const std::size_t offset = static_cast<std::size_t>(options_.unalign) * size_of(what.type);
    return place(what, world_.rank(), world_.size(), send_.get() + offset, recv_.get() + offset);
  }

  Measurement measure(const Case& what, const LineHead& head) {
    const Operands here = operands(what);
    const Timing timing = time_case(world_, what, options_, here, progress_);
    Measurement result{.time_us = timing.seconds * 1e6, .algbw_GBps = algorithm_bandwidth(head.bytes, timing.seconds)};
    result.busbw_GBps = result.algbw_GBps * bus_factor(what.benchmark, static_cast<std::size_t>(world_.size()));
    if (options_.checks > 0 && (!what.in_place || in_place_defined(what.benchmark))) {
      std::uint64_t wrong = 0;
      for (int i = 0; i < options_.checks; ++i) wrong += check_case(world_, what, seed_++, here);
      out_of_bounds_ += wrong;
      result.wrong = wrong;
    }
    record(head, result, what.in_place, timing.latency_us);
    return result;
  }

  void record(const LineHead& head, const Measurement& measured, bool in_place, const Summary& latency_us) {
    bus_bandwidth_sum_ += measured.busbw_GBps;
    report_.results.push_back({.size = head.bytes,
                               .count = head.count,
                               .type = std::string(head.type),
                               .redop = std::string(head.redop),
                               .root = head.root,
                               .in_place = in_place,
                               .latency_us = latency_us,
                               .time_us = measured.time_us,
                               .algbw_GBps = measured.algbw_GBps,
                               .busbw_GBps = measured.busbw_GBps,
                               .wrong = measured.wrong});
  }

  double average_bus_bandwidth() const {
    return report_.results.empty() ? 0 : bus_bandwidth_sum_ / static_cast<double>(report_.results.size());
  }

  Communicator world_;
  Benchmark benchmark_;
  CollectiveOptions options_;
  bool prints_;
  Progress progress_;
  Buffer send_, recv_;
  Report report_;
  double bus_bandwidth_sum_ = 0;
  std::uint64_t out_of_bounds_ = 0;
  std::uint64_t seed_ = 1;
};

}  // namespace

int run_collective_benchmark(Context& context, Benchmark benchmark, CollectiveOptions options) {
  return Sweep(context, benchmark, std::move(options)).run(context.banner());
}

}  // namespace godwit::apps
