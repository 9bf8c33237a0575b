// What the devices of a host say of themselves.
#include "fake_verbs/device.hpp"

#include <endian.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace godwit::fake_verbs {
namespace {

using verbs::DeviceFacts;
using verbs::GidEntry;
using verbs::GidType;
using verbs::LinkLayer;
using verbs::PortFacts;

struct Speed {
  double lane_Gbps;
  std::uint8_t code;
  const char* name;
};
constexpr std::array speeds{Speed{2.5, 1, "SDR"},      Speed{5, 2, "DDR"},   Speed{10, 4, "QDR"},
                            Speed{14.0625, 16, "FDR"}, Speed{25, 32, "EDR"}, Speed{50, 64, "HDR"},
                            Speed{100, 128, "NDR"}};

const Speed& speed_of(const PortFacts& port) {
  const double lane = port.rate_Gbps / std::max(1U, port.lanes);
  return *std::min_element(speeds.begin(), speeds.end(), [&](const Speed& a, const Speed& b) {
    return std::abs(a.lane_Gbps - lane) < std::abs(b.lane_Gbps - lane);
  });
}

std::uint8_t width_of(unsigned lanes) {
  switch (lanes) {
    case 2: return 16;
    case 4: return 2;
    case 8: return 4;
    case 12: return 8;
    default: return 1;
  }
}

struct Named {
  const char* fact;
  const char* sysfs;
  unsigned code;
};
constexpr std::array states{Named{"Down", "DOWN", 1}, Named{"Initializing", "INIT", 2}, Named{"Armed", "ARMED", 3},
                            Named{"Active", "ACTIVE", 4}};
constexpr std::array physical_states{Named{"Sleep", "Sleep", 1}, Named{"Polling", "Polling", 2},
                                     Named{"Disabled", "Disabled", 3}, Named{"LinkUp", "LinkUp", 5}};

template <std::size_t Count>
const Named& named(const std::array<Named, Count>& table, const std::string& text, bool active) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const Named& entry) { return text == entry.fact; });
  return found != table.end() ? *found : active ? table.back() : table.front();
}

ibv_mtu mtu_of(unsigned bytes) {
  auto mtu = IBV_MTU_256;
  while (mtu < IBV_MTU_4096 && (256U << static_cast<unsigned>(mtu)) <= bytes) mtu = static_cast<ibv_mtu>(mtu + 1);
  return mtu;
}

unsigned table_length(const PortFacts& port) {
  unsigned length = 0;
  for (const GidEntry& entry : port.gids) length = std::max(length, entry.index + 1);
  return length;
}

template <class... Arguments>
std::string format(const char* form, Arguments... arguments) {
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(), form, arguments...);
  return text.data();
}

std::string guid(std::uint64_t value) {
  const auto part = [&](unsigned shift) { return static_cast<unsigned>(value >> shift & 0xffff); };
  return format("%04x:%04x:%04x:%04x", part(48), part(32), part(16), part(0));
}

std::string text_of(const GidEntry& entry, std::string_view what) {
  if (what == "ndevs") return entry.net_device;
  if (what == "types") return entry.type == GidType::roce_v2 ? "RoCE v2" : "IB/RoCE v1";
  std::string text;
  for (std::size_t i = 0; i < entry.gid.size(); i += 2) {
    text += format(i == 0 ? "%02x%02x" : ":%02x%02x", entry.gid[i], entry.gid[i + 1]);
  }
  return text;
}

/// "gid_attrs/types/3", "gid_attrs/ndevs/3", "gids/3"
std::string gid_attribute(const PortFacts& port, std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {};
  std::string_view what = path.substr(0, slash);
  if (what.starts_with("gid_attrs/")) what.remove_prefix(10);
  if (what != "types" && what != "ndevs" && what != "gids") return {};
  for (const GidEntry& entry : port.gids) {
    if (std::to_string(entry.index) == path.substr(slash + 1)) return text_of(entry, what);
  }
  return {};
}

std::string port_attribute(const PortFacts& port, std::string_view path) {
  const Named& state = named(states, port.state, port.active);
  const Named& physical = named(physical_states, port.physical_state, port.active);
  if (path == "state") return format("%u: %s", state.code, state.sysfs);
  if (path == "phys_state") return format("%u: %s", physical.code, physical.sysfs);
  if (path == "link_layer") return port.link == LinkLayer::infiniband ? "InfiniBand" : "Ethernet";
  if (path == "rate")
    return format("%g Gb/sec (%uX %s)", port.rate_Gbps, port.lanes,
                  port.speed.empty() ? speed_of(port).name : port.speed.c_str());
  if (path == "lid") return format("0x%x", port.lid);
  if (path == "sm_lid") return format("0x%x", port.sm_lid);
  if (path == "lid_mask_count") return format("%u", port.lmc);
  return gid_attribute(port, path);
}

}  // namespace

std::string attribute(Device& device, const std::string& path) {
  const DeviceSetup& setup = device.setup;
  const DeviceFacts& facts = setup.facts;
  if (const auto found = setup.sysfs.find(path); found != setup.sysfs.end()) return found->second;
  if (path == "node_guid") return guid(facts.node_guid);
  if (path == "sys_image_guid") return guid(facts.system_guid);
  if (path == "node_type") return device.is_iwarp() ? "4: RNIC" : "1: CA";
  if (path == "fw_ver") return facts.firmware;
  if (path == "hca_type") return facts.model;
  if (path == "board_id") return facts.board;
  if (path == "hw_rev") return facts.hardware;
  if (path == "device/numa_node") return std::to_string(facts.numa_node);
  unsigned number = 0;
  int used = 0;
  if (std::sscanf(path.c_str(), "ports/%u/%n", &number, &used) != 1 || used == 0) return {};
  const Port* const port = device.port(number);
  return port == nullptr ? std::string{} : port_attribute(port->facts, path.substr(static_cast<std::size_t>(used)));
}

void describe(const Device& device, ibv_device_attr& out) {
  const DeviceFacts& facts = device.setup.facts;
  out = {};
  std::snprintf(out.fw_ver, sizeof out.fw_ver, "%s", facts.firmware.c_str());
  out.node_guid = htobe64(facts.node_guid);
  out.sys_image_guid = htobe64(facts.system_guid);
  out.max_mr_size = facts.max_registration;
  out.page_size_cap = 0xfffff000;
  out.max_qp = static_cast<int>(device.setup.max_queue_pairs);
  out.max_qp_wr = static_cast<int>(facts.max_send_requests);
  out.max_sge = out.max_sge_rd = out.max_srq_sge = static_cast<int>(facts.max_sge);
  out.max_cq = out.max_srq = 65536;
  out.max_cqe = static_cast<int>(facts.max_completions);
  out.max_mr = static_cast<int>(device.setup.max_regions);
  out.max_pd = 65536;
  out.max_qp_rd_atom = out.max_qp_init_rd_atom = static_cast<int>(facts.max_reads);
  out.max_res_rd_atom = out.max_qp_rd_atom * out.max_qp;
  out.atomic_cap = facts.atomics ? IBV_ATOMIC_HCA : IBV_ATOMIC_NONE;
  out.max_srq_wr = static_cast<int>(facts.max_srq_requests);
  out.max_pkeys = facts.ports.empty() ? std::uint16_t{0} : static_cast<std::uint16_t>(facts.ports[0].pkeys.size());
  out.phys_port_cnt = static_cast<std::uint8_t>(facts.ports.size());
}

void describe(const Port& port, ibv_port_attr& out) {
  const PortFacts& facts = port.facts;
  out = {};
  out.state = static_cast<ibv_port_state>(named(states, facts.state, facts.active).code);
  out.max_mtu = mtu_of(facts.max_mtu);
  out.active_mtu = mtu_of(facts.mtu);
  out.gid_tbl_len = static_cast<int>(table_length(facts));
  out.max_msg_sz = static_cast<std::uint32_t>(facts.max_message);
  out.pkey_tbl_len = static_cast<std::uint16_t>(facts.pkeys.size());
  out.lid = facts.lid;
  out.sm_lid = facts.sm_lid;
  out.lmc = facts.lmc;
  out.port_cap_flags = facts.capabilities;
  out.max_vl_num = 1;
  out.active_width = width_of(facts.lanes);
  out.active_speed = speed_of(facts).code;
  out.phys_state = static_cast<std::uint8_t>(named(physical_states, facts.physical_state, facts.active).code);
  out.link_layer = facts.link == LinkLayer::infiniband ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
}

std::vector<ibv_gid_entry> gid_table(const Device& device) {
  std::vector<ibv_gid_entry> table;
  for (const Port& port : device.ports) {
    for (const GidEntry& entry : port.facts.gids) {
      ibv_gid_entry out{};
      std::memcpy(out.gid.raw, entry.gid.data(), 16);
      out.gid_index = entry.index;
      out.port_num = port.facts.number;
      out.gid_type = entry.type == GidType::roce_v2   ? IBV_GID_TYPE_ROCE_V2
                     : entry.type == GidType::roce_v1 ? IBV_GID_TYPE_ROCE_V1
                                                      : IBV_GID_TYPE_IB;
      out.ndev_ifindex = entry.net_device.empty() ? 0 : port.facts.number + 1;
      table.push_back(out);
    }
  }
  return table;
}

}  // namespace godwit::fake_verbs
