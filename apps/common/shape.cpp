#include "common/shape.hpp"

#include <algorithm>

namespace godwit::apps {

namespace {

/// Does each rank own one part of the larger buffer?
bool divided(Benchmark benchmark) noexcept {
  switch (benchmark) {
    case Benchmark::all_gather:
    case Benchmark::reduce_scatter:
    case Benchmark::gather:
    case Benchmark::scatter:
    case Benchmark::alltoall: return true;
    case Benchmark::all_reduce:
    case Benchmark::broadcast:
    case Benchmark::reduce:
    case Benchmark::scan:
    case Benchmark::exscan:
    case Benchmark::sendrecv: return false;
  }
  return false;
}

}  // namespace

std::string_view program_name(Benchmark benchmark) noexcept {
  switch (benchmark) {
    case Benchmark::all_reduce: return "all_reduce_perf";
    case Benchmark::all_gather: return "all_gather_perf";
    case Benchmark::reduce_scatter: return "reduce_scatter_perf";
    case Benchmark::broadcast: return "broadcast_perf";
    case Benchmark::reduce: return "reduce_perf";
    case Benchmark::gather: return "gather_perf";
    case Benchmark::scatter: return "scatter_perf";
    case Benchmark::alltoall: return "alltoall_perf";
    case Benchmark::scan: return "scan_perf";
    case Benchmark::exscan: return "exscan_perf";
    case Benchmark::sendrecv: return "sendrecv_perf";
  }
  return "unknown";
}

std::optional<Benchmark> benchmark_of_program(std::string_view program) noexcept {
  program = program.substr(program.rfind('/') + 1);  // npos + 1 == 0
  for (Benchmark benchmark : all_benchmarks)
    if (program_name(benchmark) == program) return benchmark;
  return std::nullopt;
}

bool has_reduction(Benchmark benchmark) noexcept {
  return benchmark == Benchmark::all_reduce || benchmark == Benchmark::reduce ||
         benchmark == Benchmark::reduce_scatter || benchmark == Benchmark::scan || benchmark == Benchmark::exscan;
}

bool has_root(Benchmark benchmark) noexcept {
  return benchmark == Benchmark::broadcast || benchmark == Benchmark::reduce || benchmark == Benchmark::gather ||
         benchmark == Benchmark::scatter;
}

bool in_place_defined(Benchmark benchmark) noexcept { return benchmark != Benchmark::sendrecv; }

std::optional<Collective> collective_of(Benchmark benchmark) noexcept {
  switch (benchmark) {
    case Benchmark::all_reduce: return Collective::allreduce;
    case Benchmark::all_gather: return Collective::allgather;
    case Benchmark::reduce_scatter: return Collective::reduce_scatter;
    case Benchmark::broadcast: return Collective::broadcast;
    case Benchmark::reduce: return Collective::reduce;
    case Benchmark::gather: return Collective::gather;
    case Benchmark::scatter: return Collective::scatter;
    case Benchmark::alltoall: return Collective::alltoall;
    case Benchmark::scan: return Collective::scan;
    case Benchmark::exscan: return Collective::exscan;
    case Benchmark::sendrecv: return std::nullopt;
  }
  return std::nullopt;
}

Shape shape_of(Benchmark benchmark, std::size_t bytes, std::size_t element, std::size_t ranks) noexcept {
  const std::size_t whole = bytes / element;
  if (!divided(benchmark)) return {.count = whole, .send = whole, .recv = whole};
  const std::size_t alignment = std::max<std::size_t>(16 / element, 1);
  const std::size_t part = whole / ranks / alignment * alignment;
  switch (benchmark) {
    case Benchmark::all_gather:
    case Benchmark::gather: return {.count = part, .send = part, .recv = part * ranks, .send_index = part};
    case Benchmark::reduce_scatter:
    case Benchmark::scatter: return {.count = part, .send = part * ranks, .recv = part, .recv_index = part};
    default: return {.count = part, .send = part * ranks, .recv = part * ranks};
  }
}

double bus_factor(Benchmark benchmark, std::size_t ranks) noexcept {
  const auto n = static_cast<double>(ranks);
  if (benchmark == Benchmark::all_reduce) return 2 * (n - 1) / n;
  return divided(benchmark) ? (n - 1) / n : 1;
}

double algorithm_bandwidth(std::size_t bytes, double seconds) noexcept {
  return seconds > 0 ? static_cast<double>(bytes) / seconds / 1e9 : 0;
}

}  // namespace godwit::apps
