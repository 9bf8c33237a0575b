#include "verbs/choice.hpp"

#include <godwit/error.hpp>

#include <gtest/gtest.h>

#include "tables.hpp"

namespace godwit::verbs {
namespace {

using tables::device;
using tables::infiniband;
using tables::roce;
using tables::v2;

const Placement second_socket = placement_among({{0, {0}, {10, 21}}, {1, {1}, {21, 10}}}, {1});

struct PortsChosen : testing::Test {
  // "mlx5_0:1 mlx5_2:1"
  std::string names(const std::vector<DeviceFacts>& devices, const Placement& here = {}) {
    result = choose_ports(devices, options, here);
    std::string text;
    for (const PortChoice& choice : result.ports)
      text += (text.empty() ? "" : " ") + devices[choice.device].name + ":" + std::to_string(choice.port);
    left_out.clear();
    for (const PortLeftOut& one : result.left_out) left_out.push_back(one.line);
    return text;
  }
  std::string refusal(const std::vector<DeviceFacts>& devices) {
    try {
      choose_ports(devices, options, {});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return error.what();
    }
    return "accepted";
  }

  VerbsOptions options;
  PortChoices result;
  std::vector<std::string> left_out;  // "mlx5_1 port 1: Down"
};

PortFacts down() {
  PortFacts port = infiniband();
  port.active = false;
  port.state = "Down";
  port.physical_state = "Polling";
  return port;
}

TEST_F(PortsChosen, NoneWithoutAdapters) {
  EXPECT_EQ(names({}), "");
  EXPECT_TRUE(left_out.empty());
}

TEST_F(PortsChosen, ActivePortsOnlyAndWhyNotTheOthers) {
  EXPECT_EQ(names({device("mlx5_0", {down(), infiniband()}), device("mlx5_1", {roce({})})}), "mlx5_0:2");
  EXPECT_EQ(left_out,
            (std::vector<std::string>{"mlx5_0 port 1: Down, physically Polling",
                                      "mlx5_1 port 1: its GID table is empty: has its network interface an address, "
                                      "and is it in this container?"}));
  EXPECT_EQ(result.ports[0].reason, "the only usable port; GID index 0, fe80::1:2:3:4 (InfiniBand); the port's own");
}

TEST_F(PortsChosen, NoneWhenSwitchedOff) {
  options.disable.set("1", "NCCL_IB_DISABLE");
  EXPECT_EQ(names({device("mlx5_0", {infiniband()})}), "");
  EXPECT_EQ(left_out_text(result.left_out), "mlx5_0 port 1: switched off by NCCL_IB_DISABLE");
}

TEST_F(PortsChosen, NearestFirst) {
  const std::vector<DeviceFacts> devices{device("mlx5_0", {infiniband()}, 0), device("mlx5_1", {infiniband()}, 1),
                                         device("mlx5_2", {infiniband()}, 1)};
  EXPECT_EQ(names(devices, second_socket), "mlx5_1:1 mlx5_2:1 mlx5_0:1");
  EXPECT_EQ(result.ports[0].rail, 1U);
  EXPECT_EQ(result.ports[2].rail, 0U);
  EXPECT_EQ(result.ports[0].reason.substr(0, result.ports[0].reason.find(';')),
            "first of 3 ports by distance (NUMA node 1, distance 10) and rate, 100 Gb/s");
  EXPECT_EQ(names(devices), "mlx5_0:1 mlx5_1:1 mlx5_2:1");
}

TEST_F(PortsChosen, ASlowPortIsLeftOutHoweverNear) {
  EXPECT_EQ(names({device("bnxt_0", {roce({v2(0, "::ffff:10.0.0.1")}, 25)}, 1), device("mlx5_0", {infiniband(200)}, 0)},
                  second_socket),
            "mlx5_0:1");
  EXPECT_EQ(left_out, (std::vector<std::string>{"bnxt_0 port 1: 25 Gb/s, another port has 200 Gb/s"}));
}

TEST_F(PortsChosen, RailsAreOfOneRate) {
  EXPECT_EQ(names({device("mlx5_0", {infiniband(100)}), device("mlx5_1", {infiniband(200)}),
                   device("mlx5_2", {infiniband(200)})}),
            "mlx5_1:1 mlx5_2:1");
  EXPECT_EQ(left_out, (std::vector<std::string>{"mlx5_0 port 1: 100 Gb/s, unlike mlx5_1 port 1 with 200 Gb/s"}));
}

TEST_F(PortsChosen, AtMostFour) {
  std::vector<DeviceFacts> devices;
  for (int i = 0; i < 6; ++i) devices.push_back(device("mlx5_" + std::to_string(i), {infiniband()}, i / 3));
  EXPECT_EQ(names(devices, second_socket), "mlx5_3:1 mlx5_4:1 mlx5_5:1 mlx5_0:1");
  EXPECT_EQ(left_out.size(), 2U);
}

TEST_F(PortsChosen, RocePrecedesIwarp) {
  DeviceFacts iwarp = device("siw0", {roce({tables::ib(0, "200::1")})});
  iwarp.protocol = Protocol::iwarp;
  EXPECT_EQ(names({iwarp, device("rxe0", {roce({v2(1, "::ffff:10.0.0.1")})})}), "rxe0:1 siw0:1");
}

TEST_F(PortsChosen, TheUsersWish) {
  const std::vector<DeviceFacts> devices{device("mlx5_1", {infiniband(), infiniband()}),
                                         device("mlx5_10", {infiniband()})};
  options.hca.set("mlx5_1:2", "GODWIT_IB_HCA");
  EXPECT_EQ(names(devices), "mlx5_1:2");
  EXPECT_EQ(left_out.at(0), "mlx5_1 port 1: not allowed by GODWIT_IB_HCA");
  options.hca.set("^mlx5_1", "GODWIT_IB_HCA");
  EXPECT_EQ(names(devices), "mlx5_10:1");
  options.hca.set("mlx5_10,mlx5_11", "GODWIT_IB_HCA");
  EXPECT_EQ(names(devices), "mlx5_10:1");
  EXPECT_EQ(result.warnings.size(), 1U);
  options.hca.set("mlx5_2", "GODWIT_IB_HCA");
  EXPECT_NE(refusal(devices).find("mlx5_1:1, mlx5_1:2, mlx5_10:1"), std::string::npos);
}

TEST_F(PortsChosen, GidIndexCountsForPortsInUseOnly) {
  const std::vector<DeviceFacts> devices{device("bnxt_0", {roce({v2(0, "::ffff:10.0.0.1")}, 10)}),
                                         device("mlx5_0", {roce({v2(1, "fe80::1"), v2(3, "::ffff:10.0.1.1")})})};
  options.gid_index.set("1", "NCCL_IB_GID_INDEX");
  EXPECT_EQ(names(devices), "mlx5_0:1");
  EXPECT_EQ(result.ports[0].gid->index, 1U);
  options.gid_index.set("2", "NCCL_IB_GID_INDEX");
  EXPECT_EQ(refusal(devices).substr(0, 67), "NCCL_IB_GID_INDEX=2: mlx5_0 port 1 has an empty slot there; its tab");
}

TEST_F(PortsChosen, AlternativesAreKept) {
  names({device("mlx5_0", {roce({v2(1, "fe80::1"), v2(3, "::ffff:10.0.1.1")})})});
  ASSERT_EQ(result.ports.at(0).gids.size(), 2U);
  EXPECT_EQ(result.ports[0].gid, result.ports[0].gids[0]);
  EXPECT_EQ(result.ports[0].gid->index, 3U);
  EXPECT_TRUE(result.warnings.empty());
}

TEST_F(PortsChosen, MtuIsThePortsOrLess) {
  PortFacts port = infiniband();
  port.mtu = 1024;
  const std::vector<DeviceFacts> devices{device("mlx5_0", {port})};
  names(devices);
  EXPECT_EQ(result.ports.at(0).mtu, 1024U);
  options.mtu.set("512", "GODWIT_IB_MTU");
  names(devices);
  EXPECT_EQ(result.ports.at(0).mtu, 512U);
  EXPECT_TRUE(result.warnings.empty());
  options.mtu.set("4096", "GODWIT_IB_MTU");
  names(devices);
  EXPECT_EQ(result.ports.at(0).mtu, 1024U);
  EXPECT_EQ(result.warnings,
            (std::vector<std::string>{"GODWIT_IB_MTU=4096: mlx5_0 port 1 has an active MTU of 1024, which is used"}));
}

TEST_F(PortsChosen, PartitionKeyMustBeThere) {
  PortFacts port = infiniband();
  port.pkeys = {0xffff, 0, 0x8001};
  const std::vector<DeviceFacts> devices{device("mlx5_0", {port})};
  options.pkey.set("2", "GODWIT_IB_PKEY");
  EXPECT_EQ(names(devices), "mlx5_0:1");
  options.pkey.set("1", "GODWIT_IB_PKEY");
  EXPECT_EQ(refusal(devices),
            "GODWIT_IB_PKEY=1: mlx5_0 port 1 has no partition key at this index, only at: 0 (0xffff), 2 (0x8001)");
  options.pkey.set("7", "GODWIT_IB_PKEY");
  EXPECT_NE(refusal(devices), "accepted");
}

// nccl-mesh PR 12 and 51: an MTU of 4096 on one end only.
TEST(AgreeMtu, TheSmallerOneAndAWarning) {
  EXPECT_EQ(agree_mtu(4096, 4096, "a", "b").mtu, 4096U);
  EXPECT_EQ(agree_mtu(4096, 4096, "a", "b").warning, "");
  const MtuChoice choice = agree_mtu(4096, 1024, "mlx5_0 port 1 of node0", "mlx5_0 port 1 of node1");
  EXPECT_EQ(choice.mtu, 1024U);
  EXPECT_EQ(choice.warning,
            "the ends' MTU differ: mlx5_0 port 1 of node0 has 4096, mlx5_0 port 1 of node1 has 1024; 1024 is used (set "
            "both network interfaces and switches alike)");
}

}  // namespace
}  // namespace godwit::verbs
