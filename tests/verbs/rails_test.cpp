#include "verbs/rails.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tables.hpp"

namespace godwit::verbs {
namespace {

using tables::ib;
using tables::v1;
using tables::v2;

RailEnd roce(unsigned rail, std::vector<GidEntry> gids, double rate_Gbps = 100) {
  return {rail, Protocol::infiniband, LinkLayer::ethernet, rate_Gbps, std::move(gids)};
}
RailEnd infiniband(unsigned rail, const std::string& gid, double rate_Gbps = 100) {
  return {rail, Protocol::infiniband, LinkLayer::infiniband, rate_Gbps, {ib(0, gid)}};
}
RailEnd iwarp(unsigned rail) { return {rail, Protocol::iwarp, LinkLayer::ethernet, 100, {}}; }

using Ends = std::vector<RailEnd>;
using Pairs = std::vector<std::pair<unsigned, unsigned>>;

// By rail numbers, sorted; checks that the peer comes to the same.
Pairs pairs(const Ends& local, const Ends& remote, bool same_host = false) {
  Pairs ours, theirs;
  for (const RailPair& pair : pair_ports(local, remote, same_host))
    ours.emplace_back(local.at(pair.local).rail, remote.at(pair.remote).rail);
  for (const RailPair& pair : pair_ports(remote, local, same_host))
    theirs.emplace_back(local.at(pair.remote).rail, remote.at(pair.local).rail);
  std::ranges::sort(ours);
  std::ranges::sort(theirs);
  EXPECT_EQ(ours, theirs);
  return ours;
}

TEST(Rails, OneFlatSubnetPairsEqualRails) {
  const auto host = [](int last) {
    Ends ends;
    for (unsigned rail = 0; rail < 3; ++rail)
      ends.push_back(roce(rail, {v2(3, "::ffff:10.0.0." + std::to_string(last + static_cast<int>(rail)), 112)}));
    return ends;
  };
  EXPECT_EQ(pairs(host(1), host(4)), (Pairs{{0, 0}, {1, 1}, {2, 2}}));
}

// ainode PR 89: by position in the lists a direct link was paired with a switched port.
TEST(Rails, SubnetsDecideBeforePositions) {
  const Ends here{roce(0, {v2(3, "::ffff:192.168.7.1", 126)}), roce(1, {v2(3, "::ffff:10.0.0.1", 120)})};
  const Ends there{roce(0, {v2(3, "::ffff:10.0.0.2", 120)}), roce(1, {v2(3, "::ffff:192.168.9.1", 126)})};
  EXPECT_EQ(pairs(here, there), (Pairs{{1, 0}}));  // the two direct links lead elsewhere
  const RailPair pair = pair_ports(here, there).at(0);
  EXPECT_TRUE(pair.same_subnet);
  EXPECT_EQ(pair.local, 1U);
}

TEST(Rails, ListsOrderedByDistanceStillPairByRail) {
  const Ends here{infiniband(2, "fe80::2"), infiniband(0, "fe80::1")};
  const Ends there{infiniband(0, "fe80::3"), infiniband(2, "fe80::4")};
  EXPECT_EQ(pairs(here, there), (Pairs{{0, 0}, {2, 2}}));
}

TEST(Rails, RoutedRailsPairByRail) {
  const auto end = [](unsigned rail, int host) {
    return roce(rail, {v2(3, "::ffff:10." + std::to_string(rail) + "." + std::to_string(host) + ".1", 127)});
  };
  EXPECT_EQ(pairs({end(0, 1), end(1, 1)}, {end(1, 2), end(0, 2)}), (Pairs{{0, 0}, {1, 1}}));
}

TEST(Rails, FewerPortsAtOneEnd) {
  const Ends four{infiniband(0, "fe80::1"), infiniband(1, "fe80::2"), infiniband(2, "fe80::3"),
                  infiniband(3, "fe80::4")};
  EXPECT_EQ(pairs(four, {infiniband(2, "fe80::9")}), (Pairs{{2, 2}}));
  EXPECT_EQ(pairs(four, {infiniband(4, "fe80::8"), infiniband(5, "fe80::9")}).size(), 2U);
  EXPECT_TRUE(pair_ports(four, {}).empty());
}

TEST(Rails, DifferentNumbersOnBothEndsStillAgree) {
  EXPECT_EQ(
      pairs({infiniband(0, "fe80::1"), infiniband(1, "fe80::2")}, {infiniband(1, "fe80::3"), infiniband(2, "fe80::4")}),
      (Pairs{{0, 2}, {1, 1}}));
}

TEST(Rails, InfiniBandSubnetsDoNotMix) {
  const Ends here{infiniband(0, "fe80::1"), infiniband(1, "fec0:0:0:1::2")};
  const Ends there{infiniband(0, "fec0:0:0:1::3"), infiniband(1, "fe80::4")};
  EXPECT_EQ(pairs(here, there), (Pairs{{0, 1}, {1, 0}}));
}

TEST(Rails, LinkLayersDoNotMix) {
  const Ends both{infiniband(0, "fe80::1", 200), roce(1, {v2(3, "::ffff:10.0.0.1", 120)})};
  EXPECT_EQ(pairs(both, {roce(0, {v2(3, "::ffff:10.0.0.2", 120)})}), (Pairs{{1, 0}}));
  EXPECT_EQ(pairs(both, both), (Pairs{{0, 0}}));  // only the best kind
  EXPECT_TRUE(pairs({infiniband(0, "fe80::1")}, {roce(0, {v2(3, "::ffff:10.0.0.2", 120)})}).empty());
}

TEST(Rails, GidsOfOneKindAreNeeded) {
  EXPECT_TRUE(pairs({roce(0, {v2(3, "::ffff:10.0.0.1")})}, {roce(0, {v1(0, "fe80::1")})}).empty());
  const Ends here{roce(0, {v2(3, "::ffff:10.0.0.1", 120), v2(1, "fe80::1")})}, there{roce(0, {v2(0, "fe80::2")})};
  const auto found = pair_ports(here, there);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].local_gid, 1U);
  EXPECT_EQ(found[0].remote_gid, 0U);
}

TEST(Rails, IwarpPairsWithIwarpAndComesLast) {
  EXPECT_EQ(pairs({iwarp(0)}, {iwarp(0)}), (Pairs{{0, 0}}));
  const Ends both{iwarp(0), roce(1, {v2(3, "::ffff:10.0.0.1", 120)})};
  EXPECT_EQ(pairs(both, both), (Pairs{{1, 1}}));
  EXPECT_EQ(pairs(both, {iwarp(0)}), (Pairs{{0, 0}}));
}

// nccl 1405: traffic between two adapters of one host went nowhere.
TEST(Rails, WithinAHostOnlyAPortWithItself) {
  const Ends zero{infiniband(0, "fe80::1")}, one{infiniband(1, "fe80::2")};
  EXPECT_TRUE(pairs(zero, one, true).empty());
  EXPECT_EQ(pairs(zero, zero, true), (Pairs{{0, 0}}));
}

}  // namespace
}  // namespace godwit::verbs
