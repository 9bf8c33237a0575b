// A collective call as a value: what the typed calls of Communicator fill in, and the plain form under them.
#pragma once

#include <godwit/types.hpp>

#include <cstddef>
#include <string_view>

namespace godwit {

enum class Collective : std::uint8_t {
  barrier,
  broadcast,
  reduce,
  allreduce,
  allgather,
  reduce_scatter,
  gather,
  scatter,
  alltoall,
  scan,
  exscan
};
inline constexpr std::size_t collective_count = 11;

std::string_view to_string(Collective collective) noexcept;
/// False: ReduceOp::avg is refused.
constexpr bool has_average(Collective collective) noexcept {
  return collective != Collective::scan && collective != Collective::exscan;
}

/// Counts are in elements and follow NCCL: `count` is the length of
///   broadcast, reduce, allreduce, scan, exscan: the whole vector (send and recv have `count` elements);
///   allgather, gather:            what each rank contributes (recv holds size * count, gather: on root);
///   reduce_scatter, scatter:      what each rank receives   (send holds size * count, scatter: on root);
///   alltoall:                     one block (send and recv hold size * count).
/// scan gives rank r the reduction of ranks 0..r, exscan that of 0..r-1 (and leaves recv of rank 0 as it is), in the
/// order of ranks; avg is refused.
/// In place: send == recv for broadcast, reduce, allreduce, scan, exscan and alltoall; send == recv + rank * count
/// elements for allgather and gather (root); recv == send + rank * count elements for reduce_scatter and scatter
/// (root). Buffers that a rank does not use (recv of reduce on non-roots, ...) may be null.
struct CollectiveCall {
  Collective collective = Collective::barrier;
  const void* send = nullptr;
  void* recv = nullptr;
  std::size_t count = 0;
  DataType type = DataType::uint8;
  ReduceOp op = ReduceOp::sum;
  Rank root = 0;
};

}  // namespace godwit
