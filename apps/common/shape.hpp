// What each *_perf program measures: how a size in bytes becomes counts and offsets, and what its bandwidth
// columns mean. The conventions are those of nccl-tests. Pure.
#pragma once

#include <godwit/collective.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace godwit::apps {

/// The collectives, and the ring exchange of sendrecv_perf.
enum class Benchmark : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  gather,
  scatter,
  alltoall,
  scan,
  exscan,
  sendrecv
};
inline constexpr std::array all_benchmarks = {Benchmark::all_reduce, Benchmark::all_gather, Benchmark::reduce_scatter,
                                              Benchmark::broadcast,  Benchmark::reduce,     Benchmark::gather,
                                              Benchmark::scatter,    Benchmark::alltoall,   Benchmark::scan,
                                              Benchmark::exscan,     Benchmark::sendrecv};

/// "all_reduce_perf" and so on; nothing for other names. A path is cut down to its last part.
std::optional<Benchmark> benchmark_of_program(std::string_view program) noexcept;
std::string_view program_name(Benchmark benchmark) noexcept;

bool has_reduction(Benchmark benchmark) noexcept;
bool has_root(Benchmark benchmark) noexcept;
/// Can results be checked when send and receive buffer are the same? Not for sendrecv: the two transfers of a
/// rank then meet in one buffer.
bool in_place_defined(Benchmark benchmark) noexcept;
/// Nothing for sendrecv.
std::optional<Collective> collective_of(Benchmark benchmark) noexcept;

/// Everything in elements.
struct Shape {
  std::size_t count = 0;       // what the call and the table's count column say
  std::size_t send = 0;        // length of the send buffer
  std::size_t recv = 0;        // length of the receive buffer
  std::size_t send_index = 0;  // in place: where the send data begins in the receive buffer, per rank number
  std::size_t recv_index = 0;  // in place: where the result begins in the send buffer, per rank number
};

/// `bytes` is the larger buffer. Where ranks divide it among them, each part is rounded down to a multiple of
/// 16 bytes, so that parts stay aligned.
Shape shape_of(Benchmark benchmark, std::size_t bytes, std::size_t element, std::size_t ranks) noexcept;

/// Algorithm bandwidth counts the larger buffer once; bus bandwidth multiplies it by what a link must carry:
/// 2(n-1)/n for all_reduce, (n-1)/n where ranks divide the buffer, 1 for the rest.
double bus_factor(Benchmark benchmark, std::size_t ranks) noexcept;
/// Gigabytes (10^9) a second; 0 when no time passed.
double algorithm_bandwidth(std::size_t bytes, double seconds) noexcept;

}  // namespace godwit::apps
