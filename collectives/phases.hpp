// Phases: parts that several algorithms are made of. Each states steps of the builder's rank; pure.
#pragma once

#include "collectives/nodes.hpp"

#include <functional>
#include <vector>

namespace godwit::collectives {

/// Block j of a vector, for j in 0..size-1.
using Blocks = std::function<Range(int)>;
/// The vector of count() elements in parts; the ranks' blocks of the input, and of the output.
Blocks equal_parts(const ScheduleBuilder& b);
Blocks input_blocks(const ScheduleBuilder& b);
Blocks output_blocks(const ScheduleBuilder& b);
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

/// Ring of a team, step by step, so that several can be stated side by side. Each phase has size - 1 steps.
class Ring {
 public:
  /// blocks(j): of the team's j-th rank.
  Ring(Team team, Blocks blocks) : team_(std::move(team)), blocks_(std::move(blocks)) {}
  int steps() const noexcept { return team_.size() - 1; }
  /// Reserves memory for reduce_scatter().
  void prepare(ScheduleBuilder& b);
  /// Rank r ends with block r of the result at `target`; `source` is only read.
  /// Association of block j: ((x[j+1] op x[j+2]) op ... ) op x[j], ranks modulo size.
  void reduce_scatter(ScheduleBuilder& b, int step, Place source, Place target) const;
  /// Block r of `base` comes from rank r; all blocks end on all ranks.
  void allgather(ScheduleBuilder& b, int step, Place base) const;

 private:
  Range block(int distance) const { return blocks_((team_.me + distance + 2 * team_.size()) % team_.size()); }
  Rank left() const noexcept { return team_[(team_.me + team_.size() - 1) % team_.size()]; }
  Rank right() const noexcept { return team_[(team_.me + 1) % team_.size()]; }
  Place partial(int step) const noexcept { return turns_ + static_cast<std::uint64_t>(step % 2) * longest_; }

  Team team_;
  Blocks blocks_;
  std::uint64_t longest_ = 0;
  Place turns_{};
};

/// All steps of it, with all ranks in order; with a single rank a copy.
void ring_reduce_scatter(ScheduleBuilder& b, Place source, Place target, const Blocks& blocks);
void ring_allgather(ScheduleBuilder& b, Place base, const Blocks& blocks);

/// Binomial reduction to `root`; the result is in `accumulator` there. `source` is only read, elsewhere
/// `accumulator` is overwritten. Association: each node op its subtrees, nearest first, in order of relative ranks.
void binomial_reduce(ScheduleBuilder& b, Rank root, Place source, Place accumulator);
/// Binomial broadcast of `place` of the root into `place` of the others.
void binomial_broadcast(ScheduleBuilder& b, Rank root, Place place);

}  // namespace godwit::collectives
