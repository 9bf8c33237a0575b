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

TEST(Surroundings, ExtrapolateLargeCommunicators) {
  EXPECT_EQ(look(cards(1024, 8, 8, true)).shape, (NodeShape{128, 8}));
  EXPECT_EQ(look(cards(128, 128, 128, true)).shape, (NodeShape{1, 128}));
}

}  // namespace
}  // namespace godwit::collectives
