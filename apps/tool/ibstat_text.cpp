#include "tool/ibstat_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>

#include "verbs/gid_choice.hpp"

namespace godwit::apps {
namespace {

using nlohmann::json;

// The lower half of GID 0, as for ibstat.
std::uint64_t port_guid(const verbs::PortFacts& port) {
  std::uint64_t guid = 0;
  if (!port.gids.empty() && port.gids.front().index == 0)
    for (std::size_t i = 8; i < 16; ++i) guid = guid << 8 | port.gids.front().gid[i];
  return guid;
}

std::string_view link_layer(const verbs::PortFacts& port) {
  return port.link == verbs::LinkLayer::ethernet ? "Ethernet" : "InfiniBand";
}

std::string_view protocol(const verbs::DeviceFacts& device, const verbs::PortFacts& port) {
  if (device.protocol == verbs::Protocol::iwarp) return "iWARP";
  return port.link == verbs::LinkLayer::ethernet ? "RoCE" : "InfiniBand";
}

std::string hex(std::uint64_t guid) { return fmt::format("{:#018x}", guid); }

std::string_view gid_kind(const verbs::DeviceFacts& device, const verbs::GidEntry& entry) {
  return device.protocol == verbs::Protocol::iwarp ? "iWARP, by MAC" : verbs::to_string(verbs::kind_of(entry));
}

std::string gid_lines(const verbs::DeviceFacts& device, const verbs::PortFacts& port, const runtime::PortUse& use) {
  std::string text = fmt::format("\t\tGIDs: {}\n", port.gids.size());
  for (const verbs::GidEntry& entry : port.gids) {
    const bool chosen = use.used && use.gid_index == entry.index;
    text += fmt::format("\t\t\t{} {:3}  {:<39}  {}{}{}\n", chosen ? '*' : ' ', entry.index, verbs::gid_text(entry.gid),
                        gid_kind(device, entry), entry.net_device.empty() ? "" : ", ", entry.net_device);
  }
  return text;
}

std::string port_lines(const verbs::DeviceFacts& device, const verbs::PortFacts& port, const runtime::PortUse& use) {
  std::string text = fmt::format(
      "\tPort {}:\n\t\tState: {}\n\t\tPhysical state: {}\n\t\tRate: {}\n\t\tBase lid: {}\n\t\tLMC: {}\n\t\tSM lid: {}\n"
      "\t\tCapability mask: {:#010x}\n\t\tPort GUID: {}\n\t\tLink layer: {}\n\t\tProtocol: {}\n\t\tMTU: {} of {}\n",
      port.number, port.state, port.physical_state, rate_text(port), port.lid, port.lmc, port.sm_lid, port.capabilities,
      hex(port_guid(port)), link_layer(port), protocol(device, port), port.mtu, port.max_mtu);
  text += gid_lines(device, port, use);
  const std::string how = !use.used ? "not used" : use.rail ? fmt::format("used as rail {}", *use.rail) : "used";
  if (!use.reason.empty()) text += fmt::format("\t\tGodwit: {}: {}\n", how, use.reason);
  return text;
}

json port_json(const verbs::DeviceFacts& device, const verbs::PortFacts& port, const runtime::PortUse& use) {
  json gids = json::array();
  for (const verbs::GidEntry& entry : port.gids)
    gids.push_back({{"index", entry.index},
                    {"gid", verbs::gid_text(entry.gid)},
                    {"kind", gid_kind(device, entry)},
                    {"net_device", entry.net_device},
                    {"prefix_bits", entry.prefix_bits}});
  return {{"port", port.number},
          {"state", port.state},
          {"physical_state", port.physical_state},
          {"rate_Gbps", port.rate_Gbps},
          {"lanes", port.lanes},
          {"speed", port.speed},
          {"base_lid", port.lid},
          {"lmc", port.lmc},
          {"sm_lid", port.sm_lid},
          {"capability_mask", port.capabilities},
          {"port_guid", hex(port_guid(port))},
          {"link_layer", link_layer(port)},
          {"protocol", protocol(device, port)},
          {"mtu", port.mtu},
          {"max_mtu", port.max_mtu},
          {"max_message", port.max_message},
          {"gids", std::move(gids)},
          {"used", use.used},
          {"rail", use.rail ? json(*use.rail) : json()},
          {"gid_index", use.gid_index ? json(*use.gid_index) : json()},
          {"reason", use.reason}};
}

template <class Visit>
void for_ports(const runtime::Adapter& adapter, unsigned number, Visit&& visit) {
  for (std::size_t i = 0; i < adapter.facts.ports.size(); ++i)
    if (number == 0 || adapter.facts.ports[i].number == number) visit(adapter.facts.ports[i], adapter.uses.at(i));
}

}  // namespace

std::string rate_text(const verbs::PortFacts& port) {
  if (port.rate_Gbps <= 0) return "0";
  if (port.link == verbs::LinkLayer::ethernet) return fmt::format("{0:.4g} ({0:.4g}GbE)", port.rate_Gbps);
  if (port.speed.empty()) return fmt::format("{:.4g}", port.rate_Gbps);
  return fmt::format("{:.4g} ({}X {})", port.rate_Gbps, port.lanes, port.speed);
}

std::string ibstat_text(const runtime::Adapter& adapter, unsigned number) {
  const verbs::DeviceFacts& facts = adapter.facts;
  std::string text = fmt::format(
      "CA '{}'\n\tCA type: {}\n\tNumber of ports: {}\n\tFirmware version: {}\n\tHardware version: {}\n"
      "\tNode GUID: {}\n\tSystem image GUID: {}\n",
      facts.name, facts.model, facts.ports.size(), facts.firmware, facts.hardware, hex(facts.node_guid),
      hex(facts.system_guid));
  for_ports(adapter, number, [&](const auto& port, const auto& use) { text += port_lines(facts, port, use); });
  return text;
}

json ibstat_json(const runtime::Adapter& adapter, unsigned number) {
  const verbs::DeviceFacts& facts = adapter.facts;
  json ports = json::array();
  for_ports(adapter, number, [&](const auto& port, const auto& use) { ports.push_back(port_json(facts, port, use)); });
  return {{"name", facts.name},
          {"ca_type", facts.model},
          {"board", facts.board},
          {"firmware_version", facts.firmware},
          {"hardware_version", facts.hardware},
          {"node_guid", hex(facts.node_guid)},
          {"system_image_guid", hex(facts.system_guid)},
          {"numa_node", facts.numa_node},
          {"atomics", facts.atomics},
          {"ports", std::move(ports)}};
}

}  // namespace godwit::apps
