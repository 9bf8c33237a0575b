// Trees: everybody is reached once, depths, and that no rank works twice in the double tree.
#include "collectives/trees.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace godwit::collectives {
namespace {

using Trees = std::vector<TreeNode>;

template <class F>
Trees all_nodes(int size, F&& node_of) {
  Trees trees;
  for (Rank rank = 0; rank < size; ++rank) {
    const Problem p{.collective = Collective::broadcast, .size = size, .count = 4};
    const ScheduleBuilder b(p, rank);
    trees.push_back(node_of(b));
  }
  return trees;
}

/// Hops to the farthest rank; -1 if this is no tree over all ranks from `root`.
int depth_of(const Trees& trees, Rank root) {
  std::vector<int> depth(trees.size(), -1);
  std::vector<Rank> open{root};
  depth[static_cast<std::size_t>(root)] = 0;
  if (trees[static_cast<std::size_t>(root)].parent != -1) return -1;
  while (!open.empty()) {
    const Rank rank = open.back();
    open.pop_back();
    for (const Rank child : trees[static_cast<std::size_t>(rank)].children) {
      int& below = depth[static_cast<std::size_t>(child)];
      if (below != -1 || trees[static_cast<std::size_t>(child)].parent != rank) return -1;
      below = depth[static_cast<std::size_t>(rank)] + 1;
      open.push_back(child);
    }
  }
  return std::ranges::count(depth, -1) == 0 ? *std::ranges::max_element(depth) : -1;
}

TEST(Trees, ReachEverybodyInTheStatedRounds) {
  for (int size = 1; size <= 70; ++size)
    for (const int root : {0, size / 2, size - 1}) {
      const auto depth = [&](auto&& node) { return depth_of(all_nodes(size, node), root); };
      EXPECT_EQ(depth([&](const auto& b) { return kary_node(everybody(b), root, 2); }), kary_depth(size, 2)) << size;
      EXPECT_EQ(depth([&](const auto& b) { return chain_node(everybody(b), root); }), size - 1);
      const int knomial = depth([&](const auto& b) { return knomial_node(everybody(b), root, 4); });
      EXPECT_TRUE(knomial >= 0 && knomial <= log_ceil(size, 4)) << size;
      const Trees nodes = all_nodes(size, [&](const auto& b) { return knomial_node(everybody(b), root, 4); });
      EXPECT_EQ(nodes[static_cast<std::size_t>(root)].children.size(),
                static_cast<std::size_t>(most_children(size, 4)));
    }
}

TEST(DoubleTree, NobodyIsAnInnerNodeOfBoth) {
  for (int size = 2; size <= 70; ++size)
    for (const Rank root : {0, size / 2, size - 1}) {
      Trees trees[2];
      for (int tree = 0; tree < 2; ++tree) {
        trees[tree] = all_nodes(size, [&](const auto& b) {
          DoubleTree::Piece piece{};
          const DoubleTree both(b, root);
          EXPECT_TRUE(both.piece(0, tree, piece));
          return *piece.node;
        });
        EXPECT_EQ(depth_of(trees[tree], root), DoubleTree::depth(size)) << size << " root " << root;
      }
      for (Rank rank = 0; rank < size; ++rank) {
        const auto children = [&](int tree) { return trees[tree][static_cast<std::size_t>(rank)].children.size(); };
        EXPECT_LE(children(0) + children(1), 2U);
        EXPECT_TRUE(rank == root || children(0) == 0 || children(1) == 0) << rank << " of " << size;
      }
    }
}

TEST(TwoLevelTree, EntersEachNodeOnce) {
  const std::vector<int> layout{0, 0, 1, 1, 1, 1, 1, 2, 2, 2};
  Problem p{.collective = Collective::broadcast, .size = 10, .count = 4, .shape = {3, 5, &layout}};
  for (Rank root = 0; root < p.size; ++root) {
    Trees trees;
    for (Rank rank = 0; rank < p.size; ++rank) trees.push_back(two_level_node(ScheduleBuilder(p, rank), root));
    EXPECT_GE(depth_of(trees, root), 0) << "root " << root;
    int crossings = 0;
    for (std::size_t rank = 0; rank < trees.size(); ++rank)
      crossings += trees[rank].parent >= 0 && layout[rank] != layout[static_cast<std::size_t>(trees[rank].parent)];
    EXPECT_EQ(crossings, 2);
  }
}

}  // namespace
}  // namespace godwit::collectives
