#include "collectives/surroundings.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace godwit::collectives {
namespace {

std::vector<core::Card> cards(int size, int per_node, int cpus, bool bound) {
  std::vector<core::Card> result(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) {
    core::Card& card = result[static_cast<std::size_t>(rank)];
    card.host.boot = static_cast<std::uint64_t>(rank / per_node);
    card.cpu_count = static_cast<std::uint16_t>(cpus);
    card.cpu_hash = bound ? static_cast<std::uint32_t>(rank % per_node) : 0;
  }
  return result;
}

Surroundings look(const std::vector<core::Card>& list) {
  return look_around(static_cast<int>(list.size()),
                     [&](Rank rank) -> const core::Card& { return list[static_cast<std::size_t>(rank)]; });
}

TEST(Surroundings, CountNodesAndSharers) {
  Surroundings found = look(cards(4, 4, 2, false));
  EXPECT_EQ(found.shape, (NodeShape{1, 4}));
  EXPECT_EQ(found.crowding, 2);
  found = look(cards(16, 8, 16, false));
  EXPECT_EQ(found.shape, (NodeShape{2, 8}));
  EXPECT_EQ(found.crowding, 1);
  found = look(cards(8, 8, 1, true));
  EXPECT_EQ(found.crowding, 1);
}

std::vector<core::Card> cards_of(const std::vector<int>& nodes) {
  std::vector<core::Card> result(nodes.size());
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    result[rank].host.boot = static_cast<std::uint64_t>(100 - nodes[rank]);  // their order does not matter
    result[rank].cpu_count = 64;
  }
  return result;
}

TEST(Surroundings, KnowTheOrderOfRanks) {
  EXPECT_EQ(look(cards(16, 8, 16, false)).node_of, nullptr) << "one full node after the other needs no list";
  EXPECT_EQ(look(cards(13, 8, 16, false)).node_of, nullptr);
  const std::vector<int> uneven{0, 0, 0, 1, 1, 2, 2, 2}, dealt{0, 1, 2, 0, 1, 2, 0};
  for (const std::vector<int>& nodes : {uneven, dealt}) {
    const Surroundings found = look(cards_of(nodes));
    ASSERT_NE(found.shape.node_of, nullptr);
    EXPECT_EQ(*found.shape.node_of, nodes);
    EXPECT_EQ(found.shape.nodes, 3);
    EXPECT_EQ(found.shape.ranks_per_node, 3);
  }
}

TEST(Surroundings, ExtrapolateTheOrderOfRanks) {
  std::vector<int> dealt(100);
  for (std::size_t rank = 0; rank < dealt.size(); ++rank) dealt[rank] = static_cast<int>(rank % 8);
  const Surroundings found = look(cards_of(dealt));
  ASSERT_NE(found.shape.node_of, nullptr);
  EXPECT_EQ(*found.shape.node_of, dealt);
  EXPECT_EQ(found.shape.nodes, 8);
  EXPECT_EQ(found.shape.ranks_per_node, 13);
}

TEST(Surroundings, ExtrapolateLargeCommunicators) {
  EXPECT_EQ(look(cards(1024, 8, 8, true)).shape, (NodeShape{128, 8}));
  EXPECT_EQ(look(cards(128, 128, 128, true)).shape, (NodeShape{1, 128}));
}

}  // namespace
}  // namespace godwit::collectives
