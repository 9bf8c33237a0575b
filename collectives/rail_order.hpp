// RailOrder: the blocks of all ranks, sorted so that what travels along a rail is one run: by rail, then by node, then
// by rank. Rail i is the i-th ranks of all nodes; ranks beyond the smallest node's number belong to rails by turns.
// Pure.
#pragma once

#include "collectives/nodes.hpp"
#include "collectives/phases.hpp"

#include <vector>

namespace godwit::collectives {

class RailOrder {
 public:
  explicit RailOrder(const ScheduleBuilder& b);

  const Nodes& nodes() const noexcept { return nodes_; }
  int rails() const noexcept { return nodes_.rails(); }
  /// The builder's rail, and whether its rank is the one of its node that talks to other nodes on it.
  int rail() const noexcept { return nodes_.local() % rails(); }
  bool owner() const noexcept { return nodes_.local() < rails(); }
  /// The rank of the builder's node that owns a rail.
  Rank owner_of(int rail) const noexcept { return nodes_.ranks(nodes_.mine())[static_cast<std::size_t>(rail)]; }

  /// The rank whose block is at `position`.
  Rank rank_at(int position) const noexcept { return order_[static_cast<std::size_t>(position)]; }
  /// Positions of a whole rail; of one node's ranks on it.
  Range of_rail(int rail) const noexcept { return {begin_of(rail, 0), begin_of(rail + 1, 0)}; }
  Range of_node(int rail, int node) const noexcept { return {begin_of(rail, node), begin_of(rail, node + 1)}; }
  /// of_node() for each node of a rail, in elements of blocks of `count`.
  Blocks blocks(int rail, std::uint64_t count) const;

 private:
  std::uint64_t begin_of(int rail, int node) const noexcept {
    return begins_[static_cast<std::size_t>(rail) * static_cast<std::size_t>(nodes_.count()) +
                   static_cast<std::size_t>(node)];
  }

  Nodes nodes_;
  std::vector<Rank> order_;            // by position
  std::vector<std::uint64_t> begins_;  // [rail * nodes + node], and the end
};

/// Every block once over its rail, in the rounds of circulant, and once from or to each other rank of its node.
Cost cost_of_rails(const Problem& problem) noexcept;

}  // namespace godwit::collectives
