// Nodes: which ranks run together, and the teams that algorithms of two levels are made of. A shape that is not the
// real one makes such an algorithm slower, not wrong. Pure.
#pragma once

#include "collectives/builder.hpp"
#include "collectives/cost.hpp"

#include <vector>

namespace godwit::collectives {

/// Ranks that do a part of an algorithm among themselves.
struct Team {
  std::vector<Rank> ranks;  // in an order that all of them agree on
  int me = -1;              // index of the builder's rank; -1: it has no part
  int size() const noexcept { return static_cast<int>(ranks.size()); }
  bool has_me() const noexcept { return me >= 0; }
  Rank operator[](int index) const noexcept { return ranks[static_cast<std::size_t>(index)]; }
};

/// All ranks in order.
Team everybody(const ScheduleBuilder& b);

class Nodes {
 public:
  explicit Nodes(const ScheduleBuilder& b);

  int count() const noexcept { return static_cast<int>(ranks_.size()); }
  const std::vector<Rank>& ranks(int node) const noexcept { return ranks_[static_cast<std::size_t>(node)]; }
  /// The builder's rank: its node, and its index there.
  int mine() const noexcept { return mine_; }
  int local() const noexcept { return local_; }
  /// Ranks of the smallest node: so many ranks of each node can talk to their like at the same time.
  int rails() const noexcept { return rails_; }
  int node_of(Rank rank) const noexcept;

  /// The ranks of the builder's node.
  Team node() const;
  /// The index-th rank of each node; index < rails().
  Team rail(int index) const;
  /// One rank of each node: the first, and on the node of `root` that one.
  Team leaders(Rank root = 0) const;
  /// Index of `root`'s node's leader in node(): 0, and on root's node that of root.
  int local_root(Rank root) const;

 private:
  std::vector<std::vector<Rank>> ranks_;  // by node
  NodeShape shape_;
  int mine_ = 0, local_ = 0, rails_ = 0;
};

/// For Algorithm::applies: there is something to gain from two levels.
bool two_levels(const Problem& problem) noexcept;
/// And the operation does not mind the order of ranks.
bool two_levels_commutative(const Problem& problem) noexcept;

/// What the costs of two levels are made of: `nodes` with `local` ranks each, ceilings of their binary logarithms,
/// what (x - 1) / x of them is, and `fold` as in Terms, of the nodes.
struct NodeTerms {
  explicit NodeTerms(const Problem& problem) noexcept;
  double nodes, local, node_rounds, local_rounds, node_share, local_share, node_fold;
};

}  // namespace godwit::collectives
