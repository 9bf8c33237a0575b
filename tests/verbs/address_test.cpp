// Which ends a queue pair can connect, and the words where it cannot.
#include "verbs/routes.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace godwit::verbs {
namespace {

RailEnd roce_v2(Gid gid) {
  RailEnd end;
  end.link = LinkLayer::ethernet;
  end.gids = {{0, gid, GidType::roce_v2, {}, 0}};
  return end;
}

Gid ipv4(std::uint8_t last) { return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 9, 0, last}; }
Gid ipv6(std::uint8_t first, std::uint8_t last) { return {first, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last}; }

TEST(Address, GidsOfTheSameKindConnect) {
  EXPECT_EQ(cannot_connect(roce_v2(ipv4(1)), roce_v2(ipv4(2))), "");
  EXPECT_EQ(cannot_connect(roce_v2(ipv6(0xfe, 1)), roce_v2(ipv6(0xfd, 2))), "");
}

TEST(Address, Ipv4AndIpv6DoNotConnect) {
  for (const bool turned : {false, true}) {
    RailEnd here = roce_v2(ipv4(1)), there = roce_v2(ipv6(0xfe, 2));
    if (turned) std::swap(here, there);
    const std::string why = cannot_connect(here, there);
    EXPECT_NE(why.find("10.9.0.1"), std::string::npos) << why;
    EXPECT_NE(why.find("fe80::2"), std::string::npos) << why;
    EXPECT_NE(why.find("GODWIT_IB_GID_INDEX"), std::string::npos) << why;
  }
}

TEST(Address, GidTypesMustBeTheSame) {
  RailEnd old = roce_v2(ipv4(2));
  old.gids.front().type = GidType::roce_v1;
  EXPECT_NE(cannot_connect(roce_v2(ipv4(1)), old).find("RoCE v1"), std::string::npos);
}

TEST(Address, RoceAndIwarpDoNotConnect) {
  RailEnd iwarp = roce_v2(ipv4(2));
  iwarp.protocol = Protocol::iwarp;
  EXPECT_EQ(cannot_connect(roce_v2(ipv4(1)), iwarp), "here RoCE, there iWARP");
}

}  // namespace
}  // namespace godwit::verbs
