// PAT (parallel aggregated trees): what its allgather and reduce-scatter share. S. Jeaugey: "PAT: a new algorithm for
// all-gather and reduce-scatter operations at scale", arXiv:2506.20252 (2025).
//
// The block of each rank r has a binomial tree of its own: the rank at distance o above r (modulo n) has as its parent
// the one at distance o without its lowest bit. All trees are alike, so that all ranks do the same at the same time:
// far hops carry few blocks, near hops many. A tree is cut into `trunks` subtrees of `height` distances each. These
// advance side by side, one distance after the other, children before parents; their blocks go into one message. So a
// rank holds log2(height) * trunks partial blocks, not n, and a message has at most `trunks` blocks, about a chunk.
// Above, the trunks' roots form a small tree that goes round by round. With one trunk for each rank (short blocks) all
// is that: ceil(log2 n) rounds. Pure.
#pragma once

#include "collectives/nodes.hpp"

#include <vector>

namespace godwit::collectives {

struct Pat {
  explicit Pat(const Problem& problem) noexcept;

  int size, trunks, height;  // the latter two are powers of two
  int levels;                // log2(height)
  int roots;                 // trunks that begin below n

  /// Trunks that reach distance `low` within themselves; they are the first ones.
  int reaching(int low) const noexcept { return low < size ? (size - 1 - low) / height + 1 : 0; }
  /// Trunks whose roots are children at `bit` of the small tree (and whose parents therefore are `bit` below).
  std::vector<int> children_at(int bit) const;
  /// The rank whose block is at `distance` below `rank`; and the rank above.
  Rank below(Rank rank, int distance) const noexcept { return (rank + size - distance % size) % size; }
  Rank above(Rank rank, int distance) const noexcept { return (rank + distance) % size; }

  /// Messages of a rank, and the cost of its rounds, bytes and adapters.
  Cost cost(const Problem& problem) const noexcept;
};

/// Scratch for a message, by turns.
class Turns {
 public:
  Turns(ScheduleBuilder& b, std::uint64_t count) : places_{b.scratch(count), b.scratch(count)} {}
  Place next() noexcept { return places_[used_++ % 2]; }

 private:
  Place places_[2];
  unsigned used_ = 0;
};

}  // namespace godwit::collectives
