#include "verbs/discovery.hpp"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <net/if.h>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/log.hpp"
#include "verbs/port_words.hpp"

namespace godwit::verbs {
namespace {

struct OpenDevice {
  Api& api;
  core::Log& log;
  ibv_device* device;
  ibv_context* context;
  std::string name;
  std::span<const NetInterface> interfaces;

  std::string attribute(const std::string& path) const { return api.read_attribute(device, path.c_str()); }
};

std::uint64_t host_order(__be64 value) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
  std::uint64_t result = 0;
  for (std::size_t i = 0; i < 8; ++i) result = result << 8 | bytes[i];
  return result;
}

unsigned positive(int value) { return value > 0 ? static_cast<unsigned>(value) : 0; }

// Trailing empty slots are left out.
std::vector<std::uint16_t> read_pkeys(const OpenDevice& open, std::uint8_t port, unsigned count) {
  std::vector<std::uint16_t> keys;
  for (unsigned index = 0; index < count; ++index) {
    std::uint16_t key = 0;
    if (open.api.query_pkey(open.context, port, static_cast<int>(index), &key) != 0) break;
    keys.push_back(ntohs(key));
  }
  while (!keys.empty() && keys.back() == 0) keys.pop_back();
  return keys;
}

std::optional<PortFacts> read_port(const OpenDevice& open, std::uint8_t number, Protocol protocol,
                                   std::size_t& gid_slots) {
  ibv_port_attr attributes{};
  if (const int error = open.api.query_port(open.context, number, &attributes); error != 0) {
    open.log.warn("{} port {} is left out: ibv_query_port: {}", open.name, number, std::strerror(std::abs(error)));
    return std::nullopt;
  }
  PortFacts port;
  port.number = number;
  port.active = attributes.state == IBV_PORT_ACTIVE || attributes.state == IBV_PORT_ACTIVE_DEFER;
  port.state = state_words(attributes.state);
  port.physical_state = physical_state_words(attributes.phys_state);
  const bool ethernet = attributes.link_layer == IBV_LINK_LAYER_ETHERNET || protocol == Protocol::iwarp;
  port.link = ethernet ? LinkLayer::ethernet : LinkLayer::infiniband;
  port.mtu = mtu_bytes(attributes.active_mtu);
  port.max_mtu = mtu_bytes(attributes.max_mtu);
  const LinkSpeed speed = link_speed(open.attribute(fmt::format("ports/{}/rate", number)), attributes.active_speed,
                                     attributes.active_width);
  port.rate_Gbps = speed.rate_Gbps;
  port.lanes = speed.lanes;
  port.speed = speed.name;
  port.lid = attributes.lid;
  port.sm_lid = attributes.sm_lid;
  port.lmc = attributes.lmc;
  port.capabilities = attributes.port_cap_flags;
  port.max_message = attributes.max_msg_sz;
  port.pkeys = read_pkeys(open, number, attributes.pkey_tbl_len);
  gid_slots += positive(attributes.gid_tbl_len);
  return port;
}

// What knows the address of a GID: by it the subnet.
unsigned prefix_bits(const OpenDevice& open, const Gid& gid) {
  for (const NetInterface& interface : open.interfaces)
    for (const NetInterface::Address& address : interface.addresses)
      if (address.gid == gid) return address.prefix_bits;
  return 0;
}

// A GID of iWARP begins with the MAC address of its interface, which the kernel does not name.
std::string interface_with_mac(const OpenDevice& open, const Gid& gid) {
  for (const NetInterface& interface : open.interfaces)
    if (std::equal(interface.mac.begin(), interface.mac.end(), gid.begin())) return interface.name;
  return {};
}

std::string net_device_name(const OpenDevice& open, const ibv_gid_entry& entry) {
  // The path by sysfs is empty in a container that has none; the index needs only the name space's interfaces.
  std::string name = open.attribute(fmt::format("ports/{}/gid_attrs/ndevs/{}", entry.port_num, entry.gid_index));
  char buffer[IF_NAMESIZE] = {};
  if (name.empty() && entry.ndev_ifindex != 0 && if_indextoname(entry.ndev_ifindex, buffer) != nullptr) name = buffer;
  return name;
}

std::optional<GidEntry> to_entry(const OpenDevice& open, const ibv_gid_entry& raw, Protocol protocol) {
  GidEntry entry;
  entry.index = raw.gid_index;
  std::ranges::copy(raw.gid.raw, entry.gid.begin());
  if (std::ranges::all_of(entry.gid, [](std::uint8_t byte) { return byte == 0; })) return std::nullopt;
  switch (raw.gid_type) {
    case IBV_GID_TYPE_IB: entry.type = GidType::infiniband; break;
    case IBV_GID_TYPE_ROCE_V1: entry.type = GidType::roce_v1; break;
    case IBV_GID_TYPE_ROCE_V2: entry.type = GidType::roce_v2; break;
    default:
      open.log.debug("{} port {}: GID {} is of unknown type {}, left out", open.name, raw.port_num, raw.gid_index,
                     raw.gid_type);
      return std::nullopt;
  }
  entry.net_device = net_device_name(open, raw);
  if (entry.net_device.empty() && protocol == Protocol::iwarp) entry.net_device = interface_with_mac(open, entry.gid);
  if (entry.type != GidType::infiniband) entry.prefix_bits = prefix_bits(open, entry.gid);
  return entry;
}

void read_gids(const OpenDevice& open, std::vector<PortFacts>& ports, std::size_t slots, Protocol protocol) {
  std::vector<ibv_gid_entry> table(slots);
  const ssize_t count = slots == 0 ? 0 : open.api.query_gid_table(open.context, table.data(), table.size());
  if (count < 0) {
    open.log.warn("{}: its GID table cannot be read: ibv_query_gid_table: {}", open.name,
                  std::strerror(static_cast<int>(-count)));
    return;
  }
  for (const ibv_gid_entry& raw : std::span(table).first(std::min(slots, static_cast<std::size_t>(count)))) {
    const auto port = std::ranges::find(ports, raw.port_num, &PortFacts::number);
    if (port == ports.end()) continue;
    if (auto entry = to_entry(open, raw, protocol)) {
      if (port->net_device.empty()) port->net_device = entry->net_device;
      port->gids.push_back(std::move(*entry));
    }
  }
  for (PortFacts& port : ports) std::ranges::sort(port.gids, {}, &GidEntry::index);
}

int numa_node(const OpenDevice& open) {
  const std::string text = open.attribute("device/numa_node");
  int node = -1;
  std::from_chars(text.data(), text.data() + text.size(), node);
  return node;
}

std::optional<Protocol> protocol_of(const ibv_device& device) {
  if (device.transport_type == IBV_TRANSPORT_IB) return Protocol::infiniband;
  if (device.transport_type == IBV_TRANSPORT_IWARP) return Protocol::iwarp;
  return std::nullopt;
}

std::optional<DeviceFacts> read_device(const OpenDevice& open, Protocol protocol) {
  ibv_device_attr attributes{};
  if (const int error = open.api.query_device(open.context, &attributes); error != 0) {
    open.log.warn("adapter {} is left out: ibv_query_device: {}", open.name, std::strerror(std::abs(error)));
    return std::nullopt;
  }
  DeviceFacts facts;
  facts.name = open.name;
  facts.protocol = protocol;
  facts.model = open.attribute("hca_type");
  facts.board = open.attribute("board_id");
  facts.hardware = open.attribute("hw_rev");
  facts.firmware.assign(attributes.fw_ver, strnlen(attributes.fw_ver, sizeof attributes.fw_ver));
  facts.node_guid = host_order(attributes.node_guid);
  facts.system_guid = host_order(attributes.sys_image_guid);
  facts.numa_node = numa_node(open);
  facts.atomics = attributes.atomic_cap != IBV_ATOMIC_NONE;
  facts.max_send_requests = positive(attributes.max_qp_wr);
  facts.max_sge = positive(attributes.max_sge);
  facts.max_srq_requests = positive(attributes.max_srq_wr);
  facts.max_completions = positive(attributes.max_cqe);
  facts.max_reads = positive(std::min(attributes.max_qp_rd_atom, attributes.max_qp_init_rd_atom));
  facts.max_registration = attributes.max_mr_size;
  std::size_t gid_slots = 0;
  for (unsigned number = 1; number <= attributes.phys_port_cnt; ++number)
    if (auto port = read_port(open, static_cast<std::uint8_t>(number), protocol, gid_slots))
      facts.ports.push_back(std::move(*port));
  read_gids(open, facts.ports, gid_slots, protocol);
  return facts;
}

std::optional<DeviceFacts> ask_device(Api& api, core::Log& log, ibv_device* device,
                                      std::span<const NetInterface> interfaces) {
  const char* given = api.get_device_name(device);
  const std::string name = given != nullptr ? given : "?";
  const auto protocol = protocol_of(*device);
  if (!protocol) {
    log.info("adapter {} is left out: it speaks neither InfiniBand, RoCE nor iWARP", name);
    return std::nullopt;
  }
  const auto close = [&api](ibv_context* context) { api.close_device(context); };
  const std::unique_ptr<ibv_context, decltype(close)> context(api.open_device(device), close);
  if (!context) {
    const int error = errno;
    log.warn("adapter {} is left out: ibv_open_device: {}; may this user open /dev/infiniband/uverbs*?", name,
             std::strerror(error));
    return std::nullopt;
  }
  return read_device({api, log, device, context.get(), name, interfaces}, *protocol);
}

}  // namespace

std::vector<DeviceFacts> discover(Api& api, core::Log& log) {
  int count = 0;
  const auto release = [&api](ibv_device** list) { api.free_device_list(list); };
  const std::unique_ptr<ibv_device*, decltype(release)> list(api.get_device_list(&count), release);
  if (!list) {
    const int error = errno;
    log.info("no RDMA adapter: ibv_get_device_list: {}{}", std::strerror(error),
             error == ENOSYS ? "; the kernel module ib_uverbs is not loaded" : "");
    return {};
  }
  const std::vector<NetInterface> interfaces = api.net_interfaces();
  std::vector<DeviceFacts> devices;
  for (ibv_device* device : std::span(list.get(), positive(count)))
    if (auto facts = ask_device(api, log, device, interfaces)) devices.push_back(std::move(*facts));
  std::ranges::sort(devices, name_is_before, &DeviceFacts::name);
  return devices;
}

bool name_is_before(std::string_view left, std::string_view right) noexcept {
  const auto number_at = [](std::string_view text, std::size_t& length) {
    unsigned long long value = 0;
    length = static_cast<std::size_t>(std::from_chars(text.data(), text.data() + text.size(), value).ptr - text.data());
    return value;
  };
  while (!left.empty() && !right.empty()) {
    std::size_t in_left = 1, in_right = 1;
    if (std::isdigit(static_cast<unsigned char>(left[0])) && std::isdigit(static_cast<unsigned char>(right[0]))) {
      const auto one = number_at(left, in_left), other = number_at(right, in_right);
      if (one != other) return one < other;
    } else if (left[0] != right[0]) {
      return left[0] < right[0];
    }
    left.remove_prefix(in_left);
    right.remove_prefix(in_right);
  }
  return left.size() < right.size();
}

}  // namespace godwit::verbs
