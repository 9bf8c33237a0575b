// What a collective has to do, as a value: what algorithms, selector, verifier and executor agree on. Pure.
#pragma once

#include <godwit/collective.hpp>
#include <godwit/types.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace godwit::collectives {

/// How the ranks of a communicator are spread: ranks_per_node of the fullest node.
struct NodeShape {
  int nodes = 1;
  int ranks_per_node = 1;
  /// Node of each rank, numbered in the order of their first ranks; null: ranks fill one node after the other. Lives
  /// as long as everything that has this shape.
  const std::vector<int>* node_of = nullptr;
  friend bool operator==(const NodeShape&, const NodeShape&) = default;
};

/// Half-open range of elements.
struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t size() const noexcept { return end - begin; }
};

/// Blocks of different lengths, by rank, in elements.
struct BlockTable {
  std::vector<std::uint64_t> counts, offsets;
  friend bool operator==(const BlockTable&, const BlockTable&) = default;

  Range block(int rank) const noexcept {
    const auto i = static_cast<std::size_t>(rank);
    return {offsets[i], offsets[i] + counts[i]};
  }
  std::uint64_t end() const noexcept;    // of the last one
  std::uint64_t total() const noexcept;  // without what lies between them
};

/// A table that lives elsewhere, compared by what is in it; or none.
struct BlockTablePointer {
  const BlockTable* table = nullptr;
  explicit operator bool() const noexcept { return table != nullptr; }
  const BlockTable* operator->() const noexcept { return table; }
  friend bool operator==(BlockTablePointer a, BlockTablePointer b) noexcept {
    return a.table == b.table || (a && b && *a.table == *b.table);
  }
};

/// Everything but `in_place` is equal on all ranks, so whatever all ranks must decide alike (which algorithm, how
/// to cut messages) may not look at `in_place`. Meaning of `count`: see godwit/collective.hpp. With a v, `count` and
/// offsets are each rank's own, and gatherv, scatterv and alltoallv have lengths that only some ranks know.
struct Problem {
  Collective collective = Collective::barrier;
  int size = 1;  // ranks
  std::uint64_t count = 0;
  DataType type = DataType::uint8;
  ReduceOp op = ReduceOp::sum;
  Rank root = 0;
  bool in_place = false;
  bool commutative = true;
  NodeShape shape{};
  std::uint64_t chunk_bytes = 256 * 1024;  // pipelined algorithms cut messages into pieces of at most this
  BlockTablePointer sends{}, receives{};   // blocks of the input and of the output, where their lengths differ

  friend bool operator==(const Problem&, const Problem&) = default;

  std::uint64_t element_size() const noexcept { return size_of(type); }
  /// Elements per pipelined piece, at least 1.
  std::uint64_t chunk() const noexcept;
  bool reduces() const noexcept { return is_reduction(collective); }
  bool rooted() const noexcept { return is_rooted(collective); }
  /// Of a buffer that has a block for each rank.
  Range input_block(int rank) const noexcept { return block(sends.table, rank); }
  Range output_block(int rank) const noexcept { return block(receives.table, rank); }
  /// Elements of the buffers that `rank` passes; 0 where it may pass null.
  std::uint64_t input_count(Rank rank) const noexcept;
  std::uint64_t output_count(Rank rank) const noexcept;
  /// Longest of all buffers of all ranks, in elements and in bytes.
  std::uint64_t vector_count() const noexcept;
  std::uint64_t bytes() const noexcept { return vector_count() * element_size(); }

 private:
  Range block(const BlockTable* table, int rank) const noexcept;
};

/// allgather for allgatherv, and so on: what differs is only where blocks are.
constexpr Collective without_v(Collective collective) noexcept {
  switch (collective) {
    case Collective::allgatherv: return Collective::allgather;
    case Collective::reduce_scatterv: return Collective::reduce_scatter;
    case Collective::gatherv: return Collective::gather;
    case Collective::scatterv: return Collective::scatter;
    case Collective::alltoallv: return Collective::alltoall;
    default: return collective;
  }
}

/// Part `index` of `count` elements cut into `parts` parts whose sizes differ by at most one.
Range part(std::uint64_t count, int parts, int index) noexcept;
/// Ceiling of the binary logarithm: rounds of a dissemination among n.
int log2_ceil(int n) noexcept;
/// Largest power of two not above n.
int power_of_two_below(int n) noexcept;

/// "allreduce of 1000 float (sum) on 4 ranks".
std::string to_string(const Problem& problem);

}  // namespace godwit::collectives
