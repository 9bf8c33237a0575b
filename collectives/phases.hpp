// Phases: parts that several algorithms are made of. Each states steps of the builder's rank; pure.
#pragma once

#include "collectives/builder.hpp"

#include <functional>
#include <vector>

namespace godwit::collectives {

/// Block j of a vector, for j in 0..size-1.
using Blocks = std::function<Range(int)>;
/// The vector of count() elements in parts; a vector of size() blocks of count() elements.
Blocks equal_parts(const ScheduleBuilder& b);
Blocks equal_blocks(const ScheduleBuilder& b);
/// One rank's rank-relative place in a tree with this root: root is 0.
int relative(const ScheduleBuilder& b, Rank root) noexcept;
Rank absolute(const ScheduleBuilder& b, int relative_rank, Rank root) noexcept;

/// Binomial tree of relative ranks: a node's subtree is [node, node + span), cut at the number of ranks.
struct BinomialNode {
  int parent = -1;            // relative; -1 for the root
  std::vector<int> children;  // nearest (smallest subtree) first
  int span = 1;               // nodes in the subtree, itself included
};
BinomialNode binomial_node(int relative_rank, int size);

/// Relative ranks are contiguous in a message, but may wrap around in the root's buffer: calls visit(first, span) for
/// the one or two runs of [first, first + span) that do not.
void for_each_run(const ScheduleBuilder& b, Rank root, int first, int span, const std::function<void(int, int)>& visit);

/// Ring: size - 1 steps. Rank r ends with block r of the result at `target`; `source` is only read.
/// Association of block j: ((x[j+1] op x[j+2]) op ... ) op x[j], ranks modulo size.
void ring_reduce_scatter(ScheduleBuilder& b, Place source, Place target, const Blocks& blocks);
/// Ring: block r of `base` comes from rank r; all blocks end on all ranks.
void ring_allgather(ScheduleBuilder& b, Place base, const Blocks& blocks);

/// Binomial reduction to `root`; the result is in `accumulator` there. `source` is only read, elsewhere
/// `accumulator` is overwritten. Association: each node op its subtrees, nearest first, in order of relative ranks.
void binomial_reduce(ScheduleBuilder& b, Rank root, Place source, Place accumulator);
/// Binomial broadcast of `place` of the root into `place` of the others.
void binomial_broadcast(ScheduleBuilder& b, Rank root, Place place);

}  // namespace godwit::collectives
