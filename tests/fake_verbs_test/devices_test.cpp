// What devices say of themselves.
#include "core/log.hpp"
#include "pair.hpp"
#include "verbs/discovery.hpp"

namespace godwit::fake_verbs {
namespace {

TEST(Devices, SayWhatTheTestSaid) {
  Fabric fabric;
  DeviceSetup setup = infiniband_device("mlx5_0", 7);
  setup.facts.ports[0].gids.push_back({5, link_local_gid(99), verbs::GidType::roce_v2, "eth7"});
  setup.facts.ports[0].pkeys = {0xffff, 0, 0x8001};
  setup.sysfs["fw_pages"] = "12";
  fabric.add_host("node0", {setup, roce_device("rxe0", "10.0.0.1")});
  EXPECT_THROW(fabric.add_host("node0", {}), std::invalid_argument);
  Process& process = fabric.add_process("node0");
  int count = 0;
  ibv_device** const list = process.get_device_list(&count);
  ASSERT_EQ(count, 2);
  EXPECT_STREQ(process.get_device_name(list[0]), "mlx5_0");
  EXPECT_EQ(list[2], nullptr);
  EXPECT_EQ(process.read_attribute(list[0], "ports/1/phys_state"), "5: LinkUp");
  EXPECT_EQ(process.read_attribute(list[0], "ports/1/rate"), "100 Gb/sec (4X EDR)");
  EXPECT_EQ(process.read_attribute(list[0], "ports/1/gid_attrs/ndevs/5"), "eth7");
  EXPECT_EQ(process.read_attribute(list[0], "ports/1/gid_attrs/types/5"), "RoCE v2");
  EXPECT_EQ(process.read_attribute(list[0], "node_guid"), "0c42:a103:0000:0007");
  EXPECT_EQ(process.read_attribute(list[0], "hca_type"), "MT4123");
  EXPECT_EQ(process.read_attribute(list[0], "fw_pages"), "12");
  EXPECT_EQ(process.read_attribute(list[0], "ports/2/state"), "");
  ibv_context* const context = process.open_device(list[0]);
  ibv_port_attr port{};
  ASSERT_EQ(process.query_port(context, 1, &port), 0);
  EXPECT_EQ(port.lid, 7);
  EXPECT_EQ(port.active_mtu, IBV_MTU_4096);
  EXPECT_EQ(port.active_width, 2);
  EXPECT_EQ(port.active_speed, 32);
  EXPECT_EQ(process.query_port(context, 2, &port), EINVAL);
  ibv_gid_entry gids[4];
  ASSERT_EQ(process.query_gid_table(context, gids, 4), 2);
  EXPECT_EQ(gids[1].gid_index, 5U);
  EXPECT_EQ(gids[1].gid_type, IBV_GID_TYPE_ROCE_V2);
  std::uint16_t key = 0;
  ASSERT_EQ(process.query_pkey(context, 1, 2, &key), 0);
  EXPECT_EQ(key, 0x0180) << "network order";
  ibv_device_attr device{};
  ASSERT_EQ(process.query_device(context, &device), 0);
  EXPECT_EQ(device.max_qp_rd_atom, 16);
  EXPECT_EQ(device.atomic_cap, IBV_ATOMIC_HCA);
  EXPECT_EQ(fabric.leaks().size(), 2U) << "list and context";
  process.free_device_list(list);
  EXPECT_EQ(process.close_device(context), 0);
}

TEST(Devices, AreDiscoveredAsTheyWereSetUp) {
  Fabric fabric;
  const std::vector<DeviceSetup> setups{infiniband_device("mlx5_0", 7), roce_device("rxe0", "10.0.0.1"),
                                        iwarp_device("siw0", "10.0.0.2")};
  fabric.add_host("node0", setups);
  fabric.set_port({"node0", "rxe0", 1}, false);
  fabric.set_net_interfaces("node0", {{"eth0", {}, {{ipv4_gid("10.0.0.1"), 120}}}});
  core::Log log(core::LogLevel::off);
  const auto found = verbs::discover(fabric.add_process("node0"), log);
  ASSERT_EQ(found.size(), setups.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const verbs::DeviceFacts &got = found[i], &wanted = setups[i].facts;
    SCOPED_TRACE(wanted.name);
    EXPECT_EQ(got.name, wanted.name);
    EXPECT_EQ(got.protocol, wanted.protocol);
    EXPECT_EQ(got.model, wanted.model);
    EXPECT_EQ(got.firmware, wanted.firmware);
    EXPECT_EQ(got.node_guid, wanted.node_guid);
    EXPECT_EQ(got.numa_node, wanted.numa_node);
    EXPECT_EQ(got.atomics, wanted.atomics);
    EXPECT_EQ(got.max_send_requests, wanted.max_send_requests);
    EXPECT_EQ(got.max_completions, wanted.max_completions);
    EXPECT_EQ(got.max_reads, wanted.max_reads);
    EXPECT_EQ(got.max_registration, wanted.max_registration);
    ASSERT_EQ(got.ports.size(), 1U);
    const verbs::PortFacts &port = got.ports[0], &expected = wanted.ports[0];
    EXPECT_EQ(port.state, i == 1 ? "Down" : "Active");
    EXPECT_EQ(port.link, expected.link);
    EXPECT_EQ(port.mtu, expected.mtu);
    EXPECT_EQ(port.max_mtu, expected.max_mtu);
    EXPECT_EQ(port.rate_Gbps, expected.rate_Gbps);
    EXPECT_EQ(port.speed, expected.speed);
    EXPECT_EQ(port.lid, expected.lid);
    EXPECT_EQ(port.max_message, expected.max_message);
    EXPECT_EQ(port.pkeys, expected.pkeys);
    auto gids = expected.gids;
    if (i == 1) gids[1].prefix_bits = 120;
    EXPECT_EQ(port.gids, gids);
  }
  EXPECT_EQ(fabric.leaks(), std::vector<std::string>{});
}

TEST(Devices, ForkSafety) {
  Fabric fabric;
  fabric.add_host("node0", {infiniband_device("dev0", 1)});
  Process& process = fabric.add_process("node0");
  EXPECT_EQ(process.is_fork_initialized(), IBV_FORK_UNNEEDED);
  process.require_fork_init();
  EXPECT_EQ(process.is_fork_initialized(), IBV_FORK_DISABLED);
  EXPECT_EQ(process.fork_init(), 0);
  EXPECT_EQ(process.is_fork_initialized(), IBV_FORK_ENABLED);
  Process& late = fabric.add_process("node0");
  const End end(late, {});  // registers memory
  EXPECT_EQ(late.fork_init(), EINVAL);
}

}  // namespace
}  // namespace godwit::fake_verbs
