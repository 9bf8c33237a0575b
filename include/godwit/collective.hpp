// A collective call as a value: what the typed calls of Communicator fill in, and the plain form under them.
#pragma once

#include <godwit/types.hpp>

#include <cstddef>
#include <span>
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
  exscan,
  allgatherv,
  reduce_scatterv,
  gatherv,
  scatterv,
  alltoallv
};
inline constexpr std::size_t collective_count = 16;

std::string_view to_string(Collective collective) noexcept;
constexpr bool is_reduction(Collective collective) noexcept {
  return collective == Collective::reduce || collective == Collective::allreduce ||
         collective == Collective::reduce_scatter || collective == Collective::reduce_scatterv ||
         collective == Collective::scan || collective == Collective::exscan;
}
constexpr bool is_rooted(Collective collective) noexcept {
  return collective == Collective::broadcast || collective == Collective::reduce || collective == Collective::gather ||
         collective == Collective::scatter || collective == Collective::gatherv || collective == Collective::scatterv;
}
/// Blocks have lengths of their own: an UnevenCall.
constexpr bool is_uneven(Collective collective) noexcept { return collective >= Collective::allgatherv; }
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

/// Lengths of a buffer's blocks by rank, in elements, and where they begin. Without offsets they lie one after the
/// other.
struct BlockLengths {
  std::span<const std::size_t> counts = {};
  std::span<const std::size_t> offsets = {};
};

/// The collectives with a v. `send_blocks` describes send of reduce_scatterv, scatterv (on root) and alltoallv;
/// `recv_blocks` recv of allgatherv, gatherv (on root) and alltoallv; both are only read during the call.
///   allgatherv, reduce_scatterv: all ranks pass equal counts; offsets are each rank's own affair;
///   gatherv, scatterv:           `count` is the length of the own block, on all ranks;
///   alltoallv:                   what r has for s in send_blocks, s has for r in recv_blocks; never in place.
/// In place as without the v, at the own block. Blocks of a receive buffer may not overlap.
struct UnevenCall : CollectiveCall {
  BlockLengths send_blocks = {};
  BlockLengths recv_blocks = {};
  std::size_t unit = 1;  // elements that the lengths count as one
};

}  // namespace godwit
