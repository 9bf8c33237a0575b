#include "verbs/discovery.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <unistd.h>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "core/log.hpp"
#include "device_api.hpp"
#include "tables.hpp"
#include "verbs/net_interfaces.hpp"

namespace godwit::verbs {
namespace {

ibv_gid_entry entry(unsigned port, unsigned index, unsigned type, const std::string& text) {
  ibv_gid_entry raw{};
  const Gid value = tables::gid(text);
  std::ranges::copy(value, raw.gid.raw);
  raw.port_num = port;
  raw.gid_index = index;
  raw.gid_type = type;
  return raw;
}

ibv_port_attr active_port(std::uint8_t link_layer) {
  ibv_port_attr port{};
  port.state = IBV_PORT_ACTIVE;
  port.phys_state = 5;
  port.active_mtu = IBV_MTU_1024;
  port.max_mtu = IBV_MTU_4096;
  port.gid_tbl_len = 8;
  port.link_layer = link_layer;
  port.active_speed = 32;
  port.active_width = 2;
  return port;
}

FakeDevice roce_device(const std::string& name) {
  FakeDevice device(name);
  device.ports = {active_port(IBV_LINK_LAYER_ETHERNET)};
  device.gids = {entry(1, 3, IBV_GID_TYPE_ROCE_V2, "::ffff:10.0.0.1"), entry(1, 0, IBV_GID_TYPE_ROCE_V1, "fe80::1")};
  device.sysfs["ports/1/gid_attrs/ndevs/3"] = "eth0";
  return device;
}

struct Discovery : testing::Test {
  Discovery() {
    char path[] = "/tmp/godwit-discovery-XXXXXX";
    close(mkstemp(path));
    file = path;
  }
  ~Discovery() override {
    EXPECT_EQ(api.opened, 0);
    EXPECT_EQ(api.lists, 0);
    unlink(file.c_str());
  }
  std::vector<DeviceFacts> discover_all() {
    core::Log log(core::LogLevel::info, file);
    return discover(api, log);
  }
  std::string names() {
    std::string text;
    for (const DeviceFacts& device : discover_all()) text += (text.empty() ? "" : " ") + device.name;
    return text;
  }
  std::string logged() const {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  bool said(std::string_view part) const { return logged().find(part) != std::string::npos; }

  DeviceApi api;
  std::string file;
};

TEST_F(Discovery, WithoutAKernelModule) {
  api.list_error = ENOSYS;
  EXPECT_EQ(names(), "");
  EXPECT_TRUE(said("the kernel module ib_uverbs is not loaded")) << logged();
}

TEST_F(Discovery, NumbersInNamesCount) {
  for (const char* name : {"mlx5_10", "mlx5_2", "bnxt_re0", "mlx5_1"}) api.devices.push_back(roce_device(name));
  EXPECT_EQ(names(), "bnxt_re0 mlx5_1 mlx5_2 mlx5_10");
  EXPECT_EQ(logged(), "");
}

TEST_F(Discovery, ABadDeviceIsNamedAndLeftOut) {
  for (const char* name : {"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"}) api.devices.push_back(roce_device(name));
  api.devices[0].open_error = EACCES;
  api.devices[1].device_error = EIO;
  api.devices[2].transport_type = IBV_TRANSPORT_UNSPECIFIED;
  EXPECT_EQ(names(), "mlx5_3");
  EXPECT_TRUE(said("adapter mlx5_0 is left out: ibv_open_device: Permission denied")) << logged();
  EXPECT_TRUE(said("adapter mlx5_1 is left out: ibv_query_device: Input/output error")) << logged();
  EXPECT_TRUE(said("adapter mlx5_2 is left out: it speaks neither InfiniBand, RoCE nor iWARP")) << logged();
}

TEST_F(Discovery, ABadPortIsNamedAndLeftOut) {
  FakeDevice device = roce_device("mlx5_0");
  device.attributes.phys_port_cnt = 2;
  device.ports.push_back(active_port(IBV_LINK_LAYER_ETHERNET));
  device.gids.push_back(entry(2, 0, IBV_GID_TYPE_ROCE_V2, "fe80::2"));
  device.port_error = 1;
  api.devices = {device};
  const auto found = discover_all();
  ASSERT_EQ(found.at(0).ports.size(), 1U);
  EXPECT_EQ(found[0].ports[0].number, 2U);
  EXPECT_EQ(found[0].ports[0].gids.size(), 1U);
  EXPECT_TRUE(said("mlx5_0 port 1 is left out: ibv_query_port: Input/output error")) << logged();
}

TEST_F(Discovery, GidsAreSortedAndHolesLeftOut) {
  FakeDevice device = roce_device("mlx5_0");
  device.gids.push_back(entry(1, 1, IBV_GID_TYPE_ROCE_V2, "::"));
  device.gids.push_back(entry(1, 2, 9, "fe80::7"));
  device.gids.push_back(entry(7, 4, IBV_GID_TYPE_ROCE_V2, "fe80::8"));
  api.devices = {device};
  api.interfaces = {{"eth0", {}, {{tables::gid("fe80::1"), 64}, {tables::gid("::ffff:10.0.0.1"), 120}}}};
  const PortFacts port = discover_all().at(0).ports.at(0);
  ASSERT_EQ(port.gids.size(), 2U);
  EXPECT_EQ(port.gids[0].index, 0U);
  EXPECT_EQ(port.gids[0].type, GidType::roce_v1);
  EXPECT_EQ(port.gids[1].index, 3U);
  EXPECT_EQ(port.gids[1].gid, tables::gid("::ffff:10.0.0.1"));
  EXPECT_EQ(port.gids[1].net_device, "eth0");
  EXPECT_EQ(port.gids[1].prefix_bits, 120U);
  EXPECT_EQ(port.net_device, "eth0");
}

TEST_F(Discovery, AGidTableThatCannotBeReadIsEmpty) {
  api.devices = {roce_device("mlx5_0")};
  api.devices[0].gid_error = EOPNOTSUPP;
  EXPECT_TRUE(discover_all().at(0).ports.at(0).gids.empty());
  EXPECT_TRUE(said("mlx5_0: its GID table cannot be read: ibv_query_gid_table: Operation not supported")) << logged();
}

TEST_F(Discovery, FactsOfAPort) {
  api.devices = {roce_device("mlx5_0")};
  FakeDevice& device = api.devices[0];
  device.ports[0].pkey_tbl_len = 4;
  device.pkeys = {0xffff, 0, htons(0x8001), 0};
  device.ports[0].lid = 7;
  device.ports[0].max_msg_sz = 1U << 31;
  const PortFacts port = discover_all().at(0).ports.at(0);
  EXPECT_TRUE(port.active);
  EXPECT_EQ(port.state, "Active");
  EXPECT_EQ(port.physical_state, "LinkUp");
  EXPECT_EQ(port.link, LinkLayer::ethernet);
  EXPECT_EQ(port.mtu, 1024U);
  EXPECT_EQ(port.max_mtu, 4096U);
  EXPECT_EQ(port.rate_Gbps, 100);
  EXPECT_EQ(port.speed, "EDR");
  EXPECT_EQ(port.lid, 7U);
  EXPECT_EQ(port.max_message, std::size_t{1} << 31);
  EXPECT_EQ(port.pkeys, (std::vector<std::uint16_t>{0xffff, 0, 0x8001}));
}

TEST_F(Discovery, FactsOfADevice) {
  api.devices = {FakeDevice("mlx5_0")};
  FakeDevice& device = api.devices[0];
  device.ports = {active_port(IBV_LINK_LAYER_UNSPECIFIED)};
  const std::uint8_t guid[8] = {0x0c, 0x42, 0xa1, 3, 0, 0x5f, 0, 1};
  std::memcpy(&device.attributes.node_guid, guid, sizeof guid);
  std::strncpy(device.attributes.fw_ver, "20.31.1014", sizeof device.attributes.fw_ver - 1);
  device.attributes.atomic_cap = IBV_ATOMIC_HCA;
  device.attributes.max_qp_wr = 32768;
  device.attributes.max_qp_rd_atom = 16;
  device.attributes.max_qp_init_rd_atom = 8;
  device.attributes.max_sge = -1;
  device.sysfs = {{"hca_type", "MT4123"}, {"device/numa_node", "1"}, {"hw_rev", "0"}, {"board_id", "MT_222"}};
  const DeviceFacts facts = discover_all().at(0);
  EXPECT_EQ(facts.protocol, Protocol::infiniband);
  EXPECT_EQ(facts.ports.at(0).link, LinkLayer::infiniband);
  EXPECT_EQ(facts.node_guid, 0x0c42a103005f0001U);
  EXPECT_EQ(facts.model, "MT4123");
  EXPECT_EQ(facts.board, "MT_222");
  EXPECT_EQ(facts.firmware, "20.31.1014");
  EXPECT_EQ(facts.hardware, "0");
  EXPECT_EQ(facts.numa_node, 1);
  EXPECT_TRUE(facts.atomics);
  EXPECT_EQ(facts.max_send_requests, 32768U);
  EXPECT_EQ(facts.max_reads, 8U);
  EXPECT_EQ(facts.max_sge, 0U);
}

TEST_F(Discovery, IwarpIsEthernetAndKnownByItsMac) {
  api.devices = {FakeDevice("siw0", IBV_TRANSPORT_IWARP)};
  api.devices[0].ports = {active_port(IBV_LINK_LAYER_UNSPECIFIED)};
  api.devices[0].gids = {entry(1, 0, IBV_GID_TYPE_IB, "200:0:101::")};
  api.interfaces = {{"lo", {}, {}}, {"eth0", {2, 0, 0, 0, 1, 2}, {}}, {"eth1", {2, 0, 0, 0, 1, 1}, {}}};
  const DeviceFacts facts = discover_all().at(0);
  EXPECT_EQ(facts.protocol, Protocol::iwarp);
  EXPECT_EQ(facts.ports.at(0).link, LinkLayer::ethernet);
  EXPECT_EQ(facts.ports[0].net_device, "eth1");
  EXPECT_EQ(facts.numa_node, -1);
}

TEST(NetInterfaces, TheLoopbackIsKnown) {
  for (const NetInterface& interface : system_net_interfaces())
    for (const NetInterface::Address& address : interface.addresses)
      if (address.gid == tables::gid("::ffff:127.0.0.1")) {
        EXPECT_EQ(address.prefix_bits, 96U + 8U) << interface.name;
        EXPECT_EQ(interface.mac, (std::array<std::uint8_t, 6>{})) << interface.name;
        return;
      }
  GTEST_SKIP() << "127.0.0.1 is not up here";
}

}  // namespace
}  // namespace godwit::verbs
