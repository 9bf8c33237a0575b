#include "fake_verbs/setup.hpp"

#include <arpa/inet.h>

#include <stdexcept>

namespace godwit::fake_verbs {
namespace {

using verbs::DeviceFacts;
using verbs::Gid;
using verbs::GidType;
using verbs::LinkLayer;
using verbs::PortFacts;

PortFacts active_port(LinkLayer link, double rate_Gbps, unsigned lanes) {
  PortFacts port;
  port.active = true;
  port.state = "Active";
  port.physical_state = "LinkUp";
  port.link = link;
  port.max_mtu = 4096;
  port.rate_Gbps = rate_Gbps;
  port.lanes = lanes;
  port.speed = lanes == 4 ? "EDR" : "SDR";
  port.pkeys = {0xffff};
  return port;
}

std::uint64_t interface_of(const Gid& gid) {
  std::uint64_t value = 0;
  for (std::size_t i = 8; i < 16; ++i) value = value << 8 | gid[i];
  return value;
}

DeviceSetup soft_device(std::string name, PortFacts port, std::uint64_t guid) {
  DeviceSetup setup;
  DeviceFacts& facts = setup.facts;
  facts.name = std::move(name);
  facts.node_guid = facts.system_guid = guid;
  facts.max_send_requests = facts.max_srq_requests = 1048576;
  facts.max_sge = 32;
  facts.max_completions = 32767;
  facts.max_reads = 128;
  facts.max_registration = ~std::size_t{0};
  facts.ports = {std::move(port)};
  return setup;
}

}  // namespace

Gid ipv4_gid(std::string_view address) {
  Gid gid{};
  gid[10] = gid[11] = 0xff;
  if (inet_pton(AF_INET, std::string(address).c_str(), &gid[12]) != 1) {
    throw std::invalid_argument("not an IPv4 address: " + std::string(address));
  }
  return gid;
}

Gid link_local_gid(std::uint64_t interface_id) {
  Gid gid{0xfe, 0x80};
  for (std::size_t i = 0; i < 8; ++i) gid[15 - i] = static_cast<std::uint8_t>(interface_id >> (8 * i));
  return gid;
}

DeviceSetup infiniband_device(std::string name, std::uint16_t lid) {
  PortFacts port = active_port(LinkLayer::infiniband, 100, 4);
  const std::uint64_t guid = 0x0c42a10300000000 + lid;
  port.mtu = 4096;
  port.lid = lid;
  port.sm_lid = 1;
  port.max_message = std::size_t{1} << 30;
  port.gids = {{0, link_local_gid(guid), GidType::infiniband, ""}};
  DeviceSetup setup = soft_device(std::move(name), std::move(port), guid);
  DeviceFacts& facts = setup.facts;
  facts.model = "MT4123";
  facts.board = "FAKE0000000001";
  facts.firmware = "20.31.1014";
  facts.hardware = "0";
  facts.numa_node = 0;
  facts.atomics = true;
  facts.max_send_requests = facts.max_srq_requests = 32768;
  facts.max_sge = 30;
  facts.max_completions = 4194303;
  facts.max_reads = 16;
  return setup;
}

DeviceSetup roce_device(std::string name, std::string_view ipv4) {
  PortFacts port = active_port(LinkLayer::ethernet, 2.5, 1);
  const Gid address = ipv4_gid(ipv4);
  const std::uint64_t guid = 0x505400fffe000000 | (interface_of(address) & 0xffffff);
  port.mtu = 1024;
  port.max_message = std::size_t{8} << 20;
  port.gids = {{0, link_local_gid(guid), GidType::roce_v2, "eth0"}, {1, address, GidType::roce_v2, "eth0"}};
  DeviceSetup setup = soft_device(std::move(name), std::move(port), guid);
  setup.facts.atomics = true;
  setup.retry_7_endless = true;
  return setup;
}

DeviceSetup iwarp_device(std::string name, std::string_view ipv4) {
  PortFacts port = active_port(LinkLayer::ethernet, 2.5, 1);
  const std::uint64_t guid = 0x525400fffe000000 | (interface_of(ipv4_gid(ipv4)) & 0xffffff);
  port.mtu = 1024;
  port.max_message = std::size_t{2} << 30;
  Gid gid{0x52, 0x54};
  for (std::size_t i = 0; i < 3; ++i) gid[3 + i] = static_cast<std::uint8_t>(guid >> (16 - 8 * i));
  port.gids = {{0, gid, GidType::infiniband, ""}};
  DeviceSetup setup = soft_device(std::move(name), std::move(port), guid);
  DeviceFacts& facts = setup.facts;
  facts.protocol = verbs::Protocol::iwarp;
  facts.max_send_requests = facts.max_srq_requests = 32768;
  facts.max_sge = 6;
  facts.max_completions = 3276800;
  setup.max_inline = 64;
  setup.max_queue_pairs = 102400;
  setup.max_regions = 1024000;
  return setup;
}

}  // namespace godwit::fake_verbs
