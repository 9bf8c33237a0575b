#include "verbs/port_words.hpp"

#include <gtest/gtest.h>

namespace godwit::verbs {
namespace {

void expect_speed(const LinkSpeed& speed, double rate_Gbps, unsigned lanes, std::string_view name) {
  EXPECT_DOUBLE_EQ(speed.rate_Gbps, rate_Gbps);
  EXPECT_EQ(speed.lanes, lanes);
  EXPECT_EQ(speed.name, name);
}

TEST(PortWords, SysfsKnowsTheSpeedBest) {
  expect_speed(link_speed("100 Gb/sec (4X EDR)\n", 0, 0), 100, 4, "EDR");
  expect_speed(link_speed("40 Gb/sec (4X FDR10)", 0, 0), 40, 4, "FDR10");
  expect_speed(link_speed("800 Gb/sec (4X XDR)", 128, 2), 800, 4, "XDR");
  expect_speed(link_speed("2.5 Gb/sec (1X SDR)", 0, 0), 2.5, 1, "SDR");
  expect_speed(link_speed("10 Gb/sec (4X)", 0, 0), 10, 4, "SDR");
}

TEST(PortWords, OtherwiseTheAttributes) {
  expect_speed(link_speed("", 32, 2), 100, 4, "EDR");
  expect_speed(link_speed("nonsense", 64, 2), 200, 4, "HDR");
  expect_speed(link_speed("100 Gb/sec", 128, 16), 200, 2, "NDR");
  expect_speed(link_speed("", 1, 1), 2.5, 1, "SDR");
  expect_speed(link_speed("", 0, 2), 0, 4, "");
}

TEST(PortWords, StatesAndMtu) {
  EXPECT_EQ(state_words(IBV_PORT_ACTIVE), "Active");
  EXPECT_EQ(state_words(IBV_PORT_INIT), "Initializing");
  EXPECT_EQ(physical_state_words(5), "LinkUp");
  EXPECT_EQ(physical_state_words(3), "Disabled");
  EXPECT_EQ(physical_state_words(77), "State 77");
  EXPECT_EQ(mtu_bytes(IBV_MTU_256), 256U);
  EXPECT_EQ(mtu_bytes(IBV_MTU_4096), 4096U);
  EXPECT_EQ(mtu_bytes(static_cast<ibv_mtu>(0)), 0U);
}

}  // namespace
}  // namespace godwit::verbs
