#include "verbs/placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace godwit::verbs {
namespace {

const std::vector<NumaNode> two_sockets{{0, {0, 1}, {10, 21}}, {1, {2, 3}, {21, 10}}};

TEST(Placement, OneNodeIsNear) {
  const Placement here = placement_among(two_sockets, {2});
  EXPECT_EQ(here.to(1), 10U);
  EXPECT_EQ(here.to(0), 21U);
}

TEST(Placement, WhoMayRunEverywhereIsNearToAll) {
  const Placement here = placement_among(two_sockets, {0, 3});
  EXPECT_EQ(here.to(0), 10U);
  EXPECT_EQ(here.to(1), 10U);
}

TEST(Placement, UnknownNodesAreNotFar) {
  EXPECT_EQ(placement_among(two_sockets, {0}).to(-1), 10U);
  EXPECT_EQ(placement_among(two_sockets, {0}).to(7), 10U);
  EXPECT_EQ(placement_among({}, {0}).to(0), 10U);
  EXPECT_EQ(placement_among(two_sockets, {}).to(1), 10U);
}

TEST(Placement, NodeNumbersMayHaveHoles) {
  const Placement here = placement_among({{0, {0}, {10, 32}}, {8, {1}, {32, 10}}}, {0});
  EXPECT_EQ(here.to(8), 32U);
  EXPECT_EQ(here.to(3), 10U);
}

TEST(Placement, ThisProcessIsSomewhere) {
  const Placement here = placement_here();
  if (here.distance.empty()) GTEST_SKIP() << "no /sys/devices/system/node";
  EXPECT_EQ(*std::min_element(here.distance.begin(), here.distance.end()), 10U);
}

}  // namespace
}  // namespace godwit::verbs
