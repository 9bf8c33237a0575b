#include "tool/ibstat_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace godwit::apps {
namespace {

verbs::GidEntry gid(unsigned index, verbs::GidType type, verbs::Gid value, const char* net_device) {
  return {index, value, type, net_device, 0};
}

runtime::Adapter infiniband() {
  verbs::PortFacts port;
  port.active = true;
  port.state = "Active";
  port.physical_state = "LinkUp";
  port.mtu = port.max_mtu = 4096;
  port.rate_Gbps = 100;
  port.lanes = 4;
  port.speed = "EDR";
  port.lid = 7;
  port.sm_lid = 1;
  port.capabilities = 0x2659e848;
  port.gids = {
      gid(0, verbs::GidType::infiniband, {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x0c, 0x42, 0xa1, 3, 0, 0x5f, 0, 1}, "")};
  verbs::DeviceFacts facts;
  facts.name = "mlx5_0";
  facts.model = "MT4123";
  facts.firmware = "20.31.1014";
  facts.hardware = "0";
  facts.node_guid = facts.system_guid = 0x0c42a103005f0001;
  facts.ports = {port};
  return {facts, {{true, 0, "the only usable port"}}};
}

runtime::Adapter roce() {
  runtime::Adapter adapter = infiniband();
  adapter.facts.name = "mlx5_1";
  verbs::PortFacts& port = adapter.facts.ports[0];
  port.link = verbs::LinkLayer::ethernet;
  port.rate_Gbps = 25;
  port.gids = {gid(1, verbs::GidType::roce_v1, {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, "eth0"),
               gid(3, verbs::GidType::roce_v2, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1}, "eth0")};
  adapter.uses = {{true, 3, "RoCE v2 with an IPv4 address comes first"}};
  adapter.facts.ports.push_back(port);
  adapter.facts.ports[1].number = 2;
  adapter.uses.push_back({false, std::nullopt, "Down, physically Polling"});
  return adapter;
}

TEST(Ibstat, TextHasTheShapeOfIbstat) {
  EXPECT_EQ(ibstat_text(infiniband()),
            "CA 'mlx5_0'\n"
            "\tCA type: MT4123\n"
            "\tNumber of ports: 1\n"
            "\tFirmware version: 20.31.1014\n"
            "\tHardware version: 0\n"
            "\tNode GUID: 0x0c42a103005f0001\n"
            "\tSystem image GUID: 0x0c42a103005f0001\n"
            "\tPort 1:\n"
            "\t\tState: Active\n"
            "\t\tPhysical state: LinkUp\n"
            "\t\tRate: 100 (4X EDR)\n"
            "\t\tBase lid: 7\n"
            "\t\tLMC: 0\n"
            "\t\tSM lid: 1\n"
            "\t\tCapability mask: 0x2659e848\n"
            "\t\tPort GUID: 0x0c42a103005f0001\n"
            "\t\tLink layer: InfiniBand\n"
            "\t\tProtocol: InfiniBand\n"
            "\t\tMTU: 4096 of 4096\n"
            "\t\tGIDs: 1\n"
            "\t\t\t*   0  fe80::c42:a103:5f:1                      InfiniBand\n"
            "\t\tGodwit: used: the only usable port\n");
}

TEST(Ibstat, GidTableMarksTheChosenOne) {
  const std::string text = ibstat_text(roce(), 1);
  EXPECT_NE(text.find("\t\tLink layer: Ethernet\n\t\tProtocol: RoCE\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\t\tGIDs: 2\n"
                      "\t\t\t    1  fe80::1                                  RoCE v1, eth0\n"
                      "\t\t\t*   3  ::ffff:10.0.0.1                          RoCE v2, IPv4, eth0\n"
                      "\t\tGodwit: used: RoCE v2 with an IPv4 address comes first\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("Port GUID: 0x0000000000000000"), std::string::npos) << text;  // no GID 0
}

TEST(Ibstat, OnePortOnly) {
  const std::string text = ibstat_text(roce(), 2);
  EXPECT_EQ(text.find("Port 1:"), std::string::npos);
  EXPECT_NE(text.find("Number of ports: 2"), std::string::npos);
  EXPECT_NE(text.find("\t\tGodwit: not used: Down, physically Polling\n"), std::string::npos) << text;
  EXPECT_EQ(text.find('*'), std::string::npos) << text;
}

TEST(Ibstat, Rates) {
  const auto rate = [](verbs::LinkLayer link, double Gbps, unsigned lanes, const char* speed) {
    verbs::PortFacts port;
    port.link = link;
    port.rate_Gbps = Gbps;
    port.lanes = lanes;
    port.speed = speed;
    return rate_text(port);
  };
  EXPECT_EQ(rate(verbs::LinkLayer::infiniband, 800, 4, "XDR"), "800 (4X XDR)");
  EXPECT_EQ(rate(verbs::LinkLayer::infiniband, 2.5, 1, "SDR"), "2.5 (1X SDR)");
  EXPECT_EQ(rate(verbs::LinkLayer::infiniband, 56, 4, ""), "56");
  EXPECT_EQ(rate(verbs::LinkLayer::ethernet, 2.5, 1, "SDR"), "2.5 (2.5GbE)");
  EXPECT_EQ(rate(verbs::LinkLayer::ethernet, 0, 0, ""), "0");
}

TEST(Ibstat, SeveralRails) {
  runtime::Adapter adapter = infiniband();
  adapter.uses = {{true, 0, "one more rail", 1}};
  const std::string text = ibstat_text(adapter);
  EXPECT_NE(text.find("\t\tGodwit: used as rail 1: one more rail\n"), std::string::npos) << text;
  EXPECT_EQ(ibstat_json(adapter).at("ports")[0].at("rail"), 1);
}

TEST(Ibstat, Json) {
  const nlohmann::json all = ibstat_json(roce());
  EXPECT_EQ(all.at("name"), "mlx5_1");
  EXPECT_EQ(all.at("node_guid"), "0x0c42a103005f0001");
  ASSERT_EQ(all.at("ports").size(), 2U);
  const nlohmann::json& port = all.at("ports")[0];
  EXPECT_EQ(port.at("rate_Gbps"), 25);
  EXPECT_EQ(port.at("gid_index"), 3);
  EXPECT_EQ(port.at("gids")[1].at("gid"), "::ffff:10.0.0.1");
  EXPECT_EQ(port.at("used"), true);
  EXPECT_TRUE(port.at("rail").is_null());
  EXPECT_TRUE(all.at("ports")[1].at("gid_index").is_null());
  EXPECT_EQ(all.at("ports")[1].at("reason"), "Down, physically Polling");
  EXPECT_EQ(ibstat_json(roce(), 2).at("ports").size(), 1U);
}

}  // namespace
}  // namespace godwit::apps
