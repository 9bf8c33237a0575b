// Trees: shapes of trees over all ranks, and the pipelined reduction and broadcast along any of them. Pure.
#pragma once

#include "collectives/builder.hpp"
#include "collectives/nodes.hpp"

#include <array>
#include <vector>

namespace godwit::collectives {

/// One rank's place in a tree.
struct TreeNode {
  Rank parent = -1;            // -1: the root
  std::vector<Rank> children;  // in the order in which reductions take them; broadcasts serve the last first
};

/// k-nomial: in each round every rank that has the data gives it to radix - 1 others. A subtree is a run of relative
/// ranks, and children follow each other: reductions are in the order of relative ranks.
TreeNode knomial_node(const Team& team, int root, int radix);
/// Complete tree, every inner node with `arity` children.
TreeNode kary_node(const Team& team, int root, int arity);
/// Each rank has the next as its only child.
TreeNode chain_node(const Team& team, int root);

/// For costs: rounds of a k-nomial tree, the most children of a rank in it, and the depth of a k-ary one.
int log_ceil(int size, int radix) noexcept;
int most_children(int size, int radix) noexcept;
int kary_depth(int size, int arity) noexcept;

/// A binomial tree over one rank of each node, with one over the ranks of each node below it. Reductions take the own
/// node first, broadcasts serve other nodes first.
TreeNode two_level_node(const ScheduleBuilder& b, Rank root);

/// The root's `place` into that of the others, in pieces of at most `chunk` elements.
void tree_broadcast(ScheduleBuilder& b, const TreeNode& node, Place place, std::uint64_t count, std::uint64_t chunk);
/// The reduction of all `source` into the root's `accumulator`; elsewhere it is overwritten where there are children.
/// Association: each node op its children's subtrees, in their order.
void tree_reduce(ScheduleBuilder& b, const TreeNode& node, Place source, Place accumulator, std::uint64_t count,
                 std::uint64_t chunk);

/// Two binary trees over all ranks but the root, which feeds both: no rank is an inner node of both, so that all
/// ranks send and receive alike when each tree carries half of the vector. P. Sanders, J. Speck, J. L. Traeff:
/// "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel Computing 35 (2009).
class DoubleTree {
 public:
  DoubleTree(const ScheduleBuilder& b, Rank root);

  /// One piece of one tree.
  struct Piece {
    const TreeNode* node;
    Range elements;
  };
  /// Pieces of the longer half. The pieces of one number are handled by all ranks before those of the next.
  int pieces() const noexcept { return pieces_; }
  /// Tree 0 and 1; false: this half has no piece of that number.
  bool piece(int number, int tree, Piece& piece) const noexcept;

  /// Reduces one piece to the root, through `accumulator`: the whole vector's, or two pieces by turns.
  void reduce(ScheduleBuilder& b, const Piece& piece, Place accumulator) const;
  void broadcast(ScheduleBuilder& b, const Piece& piece, Place place) const;

  /// Hops from the root to the farthest rank.
  static int depth(int size) noexcept;
  /// The vector once up, without the reduction, or once down.
  static Cost cost_one_way(const Problem& problem) noexcept;
  /// Elements of a piece: as many pieces as hops, where that does not make them too small.
  static std::uint64_t chunk(const Problem& problem) noexcept;

 private:
  std::array<TreeNode, 2> trees_;
  std::array<Range, 2> halves_;
  std::uint64_t chunk_;
  int pieces_;
};

}  // namespace godwit::collectives
