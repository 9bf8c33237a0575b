// Tables from public reports: nccl 769, 1131, 1333, 2157; Mooncake 2747; uccl 301 and PR 803; nccl-mesh PR 51.
#include "verbs/gid_choice.hpp"

#include <godwit/error.hpp>

#include <gtest/gtest.h>

#include "tables.hpp"

namespace godwit::verbs {
namespace {

using tables::ib;
using tables::roce;
using tables::v1;
using tables::v2;

const std::vector<GidEntry> nccl_769{v1(0, "fe80::1"), v2(1, "fe80::1"), v1(2, "::ffff:200.0.209.6"),
                                     v2(3, "::ffff:200.0.209.6")};

GidChoice choose(std::vector<GidEntry> gids, int index = -1) {
  return choose_gid(roce(std::move(gids)), Protocol::infiniband, index, "mlx5_0 port 1", "GODWIT_IB_GID_INDEX");
}
unsigned chosen(std::vector<GidEntry> gids) { return choose(std::move(gids)).gids.at(0).index; }
std::string refusal(std::vector<GidEntry> gids, int index) {
  try {
    choose(std::move(gids), index);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "accepted";
}

TEST(GidChoice, IPv4OverRoceV2ComesFirst) {
  const GidChoice choice = choose(nccl_769);
  EXPECT_EQ(choice.gids[0].index, 3U);
  EXPECT_EQ(choice.reason, "RoCE v2 with an IPv4 address comes first");
  EXPECT_EQ(choice.warning, "");
}

TEST(GidChoice, PrivateIPv4IsNotDemoted) {
  EXPECT_EQ(chosen({v2(0, "fe80::1"), v2(1, "::ffff:10.102.9.101")}), 1U);
  EXPECT_EQ(chosen({v2(0, "2001:db8::1"), v2(1, "::ffff:192.168.0.1")}), 1U);
}

TEST(GidChoice, UniqueLocalAndGlobalIPv6BeforeLinkLocal) {
  EXPECT_EQ(chosen({v2(0, "fe80::1"), v2(1, "fd93:16::1")}), 1U);
  EXPECT_EQ(chosen({v2(0, "fe80::1"), v1(1, "::ffff:10.0.0.1"), v2(2, "2001:db8::1")}), 2U);
  EXPECT_EQ(choose({v2(0, "fe80::1"), v2(1, "fd93:16::1")}).warning, "");
}

TEST(GidChoice, HolesDoNotMatter) {
  EXPECT_EQ(chosen({v2(2, "fe80::1"), v2(7, "::ffff:10.0.0.1"), v2(9, "::ffff:10.0.1.1")}), 7U);
}

TEST(GidChoice, OnlyRoceV1IsTakenWithAWarning) {
  const GidChoice choice = choose({v1(0, "fe80::1"), v1(2, "::ffff:10.0.0.1")});
  EXPECT_EQ(choice.gids.at(0).index, 0U);
  EXPECT_EQ(choice.reason, "there is no RoCE v2 GID");
  EXPECT_EQ(
      choice.warning,
      "mlx5_0 port 1: only RoCE v1 GIDs, which no router forwards; switch RoCE v2 on, or give eth0 an IP address");
}

TEST(GidChoice, OnlyLinkLocalIsTakenWithAWarning) {
  const GidChoice choice = choose({v1(0, "fe80::1"), v2(1, "fe80::1")});
  EXPECT_EQ(choice.gids.at(0).index, 1U);
  EXPECT_EQ(choice.reason, "all RoCE v2 GIDs are link-local");
  EXPECT_EQ(
      choice.warning,
      "mlx5_0 port 1: only link-local GIDs, which reach only link-local GIDs of the same network; give eth0 an IP "
      "address");
  EXPECT_EQ(chosen({v2(0, "fe80::1"), v2(1, "::ffff:169.254.3.4")}), 1U);
  EXPECT_EQ(chosen({v2(0, "::ffff:169.254.3.4"), v2(1, "fd00::1")}), 1U);
}

TEST(GidChoice, EachKindIsOfferedOnce) {
  std::vector<unsigned> indices;
  for (const GidEntry& entry : choose(nccl_769).gids) indices.push_back(entry.index);
  EXPECT_EQ(indices, (std::vector<unsigned>{3, 1, 0}));
}

TEST(GidChoice, TheUsersIndexIsTaken) {
  const GidChoice choice = choose(nccl_769, 1);
  ASSERT_EQ(choice.gids.size(), 1U);
  EXPECT_EQ(choice.gids[0].index, 1U);
  EXPECT_EQ(choice.reason, "GODWIT_IB_GID_INDEX=1");
}

TEST(GidChoice, AWrongIndexIsAnErrorWithTheTable) {
  EXPECT_EQ(refusal({v2(1, "fe80::1"), v2(3, "::ffff:10.0.0.1")}, 4),
            "GODWIT_IB_GID_INDEX=4: mlx5_0 port 1 has no GID with such a high index; its table:\n"
            "  index 1, fe80::1 (RoCE v2, link-local, eth0)\n"
            "  index 3, ::ffff:10.0.0.1 (RoCE v2, IPv4, eth0)\n"
            "leave GODWIT_IB_GID_INDEX unset to have the best one chosen");
  EXPECT_NE(refusal({v2(1, "fe80::1"), v2(3, "::ffff:10.0.0.1")}, 2).find("has an empty slot there"),
            std::string::npos);
  EXPECT_NE(refusal({}, 0).find("  (empty)\n"), std::string::npos);
}

TEST(GidChoice, AnEmptyTableHasNone) {
  EXPECT_TRUE(choose({}).gids.empty());
  EXPECT_NE(choose({}).reason.find("GID table is empty"), std::string::npos);
}

TEST(GidChoice, InfiniBandTakesIndexZeroOrTheUsers) {
  const PortFacts port = tables::port(LinkLayer::infiniband, {ib(0, "fe80::1"), ib(1, "fec0::1")});
  const auto pick = [&](int index) {
    return choose_gid(port, Protocol::infiniband, index, "mlx5_0 port 1", "GODWIT_IB_GID_INDEX").gids.at(0).index;
  };
  EXPECT_EQ(pick(-1), 0U);
  EXPECT_EQ(pick(1), 1U);
}

TEST(GidChoice, IwarpIgnoresTheIndex) {
  PortFacts port = roce({ib(0, "200:0:101::")});
  port.net_device = "eth1";
  EXPECT_EQ(choose_gid(port, Protocol::iwarp, 3, "siw0 port 1", "GODWIT_IB_GID_INDEX").reason,
            "iWARP, addressed by the IP address of eth1");
}

TEST(FindAgain, AGidThatMovedIsFoundByValueAndType) {
  const GidEntry before = nccl_769[3];
  const PortFacts after =
      roce({v1(0, "fe80::1"), v2(1, "fe80::1"), v1(7, "::ffff:200.0.209.6"), v2(8, "::ffff:200.0.209.6")});
  ASSERT_TRUE(find_again(before, after));
  EXPECT_EQ(find_again(before, after)->index, 8U);
  EXPECT_FALSE(find_again(before, roce({v1(7, "::ffff:200.0.209.6")})));
  EXPECT_FALSE(find_again(before, roce({})));
}

TEST(FindAgain, TheSameInterfaceIsPreferred) {
  GidEntry vlan = v2(2, "fe80::1");
  vlan.net_device = "eth0.7";
  const PortFacts after = roce({vlan, v2(5, "fe80::1")});
  EXPECT_EQ(find_again(v2(1, "fe80::1"), after)->index, 5U);
  GidEntry renamed = v2(1, "fe80::1");
  renamed.net_device = "ens1";
  EXPECT_EQ(find_again(renamed, after)->index, 2U);
}

using Pair = std::pair<std::size_t, std::size_t>;

TEST(MatchGids, LinkLocalOnlyWhenBothEndsAre) {
  const std::vector<GidEntry> full = choose(nccl_769).gids, poor = choose({v2(0, "fe80::9")}).gids;
  EXPECT_EQ(match_gids(full, full), Pair(0, 0));
  EXPECT_EQ(match_gids(full, poor), Pair(1, 0));  // the end with IPv4 goes down to its link-local one
  EXPECT_EQ(match_gids(poor, full), Pair(0, 1));
}

TEST(MatchGids, KindsThatDoNotReachEachOther) {
  EXPECT_FALSE(match_gids(std::vector{v2(0, "::ffff:10.0.0.1")}, std::vector{v2(0, "fe80::1")}));
  EXPECT_FALSE(match_gids(std::vector{v2(0, "::ffff:10.0.0.1")}, std::vector{v1(0, "::ffff:10.0.0.1")}));
  EXPECT_FALSE(match_gids(std::vector{v2(0, "fd00::1")}, std::vector{v2(0, "::ffff:10.0.0.1")}));
  EXPECT_FALSE(match_gids({}, std::vector{v2(0, "fe80::1")}));
}

TEST(MatchGids, BothEndsComeToTheSamePair) {
  const std::vector<GidEntry> here{v2(1, "::ffff:10.0.0.1", 120), v2(2, "::ffff:10.0.1.1", 120)};
  const std::vector<GidEntry> there{v2(1, "::ffff:10.0.1.2", 120), v2(2, "::ffff:10.0.0.2", 120)};
  const auto ours = match_gids(here, there), theirs = match_gids(there, here);
  ASSERT_TRUE(ours && theirs);
  EXPECT_EQ(*ours, Pair(theirs->second, theirs->first));
  EXPECT_TRUE(same_subnet(here[ours->first], there[ours->second]));
}

TEST(SameSubnet, ComparesTheBitsOfThePrefix) {
  EXPECT_TRUE(same_subnet(v2(0, "::ffff:10.0.0.1", 124), v2(0, "::ffff:10.0.0.15", 124)));
  EXPECT_FALSE(same_subnet(v2(0, "::ffff:10.0.0.1", 124), v2(0, "::ffff:10.0.0.16", 124)));
  EXPECT_FALSE(same_subnet(v2(0, "::ffff:10.0.0.1"), v2(0, "::ffff:10.0.0.2")));  // not known
  EXPECT_FALSE(same_subnet(v2(0, "::ffff:10.0.0.1", 120), v2(0, "::ffff:10.0.0.2", 124)));
  EXPECT_TRUE(same_subnet(ib(0, "fe80::1"), ib(0, "fe80::2")));
  EXPECT_FALSE(same_subnet(ib(0, "fe80::1"), ib(0, "fec0::2")));
}

}  // namespace
}  // namespace godwit::verbs
