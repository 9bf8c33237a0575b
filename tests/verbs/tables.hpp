// Adapters and GID tables as data, for tests of choices.
#pragma once

#include "verbs/facts.hpp"

#include <arpa/inet.h>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace godwit::verbs::tables {

inline Gid gid(const std::string& text) {
  Gid value{};
  if (inet_pton(AF_INET6, text.c_str(), value.data()) != 1) throw std::invalid_argument(text);
  return value;
}

inline GidEntry ib(unsigned index, const std::string& text) { return {index, gid(text), GidType::infiniband, "", 0}; }
inline GidEntry v1(unsigned index, const std::string& text) { return {index, gid(text), GidType::roce_v1, "eth0", 0}; }
/// `bits`: of the whole GID.
inline GidEntry v2(unsigned index, const std::string& text, unsigned bits = 0) {
  return {index, gid(text), GidType::roce_v2, "eth0", bits};
}

inline PortFacts port(LinkLayer link, std::vector<GidEntry> gids, double rate_Gbps = 100) {
  PortFacts facts;
  facts.active = true;
  facts.state = "Active";
  facts.physical_state = "LinkUp";
  facts.link = link;
  facts.mtu = facts.max_mtu = 4096;
  facts.rate_Gbps = rate_Gbps;
  facts.lid = link == LinkLayer::infiniband ? 1 : 0;
  facts.gids = std::move(gids);
  facts.pkeys = {0xffff};
  return facts;
}
inline PortFacts roce(std::vector<GidEntry> gids, double rate_Gbps = 100) {
  return port(LinkLayer::ethernet, std::move(gids), rate_Gbps);
}
inline PortFacts infiniband(double rate_Gbps = 100) {
  return port(LinkLayer::infiniband, {ib(0, "fe80::1:2:3:4")}, rate_Gbps);
}

/// The ports are numbered from 1.
inline DeviceFacts device(std::string name, std::vector<PortFacts> ports, int numa_node = -1) {
  DeviceFacts facts;
  facts.name = std::move(name);
  facts.numa_node = numa_node;
  facts.ports = std::move(ports);
  unsigned number = 0;
  for (PortFacts& one : facts.ports) one.number = ++number;
  return facts;
}

}  // namespace godwit::verbs::tables
