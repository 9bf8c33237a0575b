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

/// Everything but `in_place` is equal on all ranks, so whatever all ranks must decide alike (which algorithm, how
/// to cut messages) may not look at `in_place`. Meaning of `count`: see godwit/collective.hpp.
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

  friend bool operator==(const Problem&, const Problem&) = default;

  std::uint64_t element_size() const noexcept { return size_of(type); }
  /// Elements per pipelined piece, at least 1.
  std::uint64_t chunk() const noexcept;
  bool reduces() const noexcept;
  bool rooted() const noexcept;
  /// Elements of the buffers that `rank` passes; 0 where it may pass null.
  std::uint64_t input_count(Rank rank) const noexcept;
  std::uint64_t output_count(Rank rank) const noexcept;
  /// Longest of all buffers of all ranks, in elements and in bytes.
  std::uint64_t vector_count() const noexcept;
  std::uint64_t bytes() const noexcept { return vector_count() * element_size(); }
};

/// Half-open range of elements.
struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t size() const noexcept { return end - begin; }
};

/// Part `index` of `count` elements cut into `parts` parts whose sizes differ by at most one.
Range part(std::uint64_t count, int parts, int index) noexcept;
/// Ceiling of the binary logarithm: rounds of a dissemination among n.
int log2_ceil(int n) noexcept;
/// Largest power of two not above n.
int power_of_two_below(int n) noexcept;

/// "allreduce of 1000 float (sum) on 4 ranks".
std::string to_string(const Problem& problem);

}  // namespace godwit::collectives
