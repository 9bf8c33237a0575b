#include "verbs/address.hpp"

#include "verbs/wire.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <arpa/inet.h>

namespace godwit::verbs {
namespace {

constexpr std::size_t most_hosts = 3;

struct Layout {
  std::uint8_t version = protocol_version;
  std::uint8_t hosts = 0;
  std::uint16_t port = 0;
  std::array<RailWire, most_rails_in_use> rails{};
};
static_assert(sizeof(Layout) + most_hosts * 16 <= 96);

std::optional<std::array<std::uint8_t, 16>> parse(const std::string& text) {
  std::array<std::uint8_t, 16> bytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (::inet_pton(AF_INET, text.c_str(), bytes.data() + 12) == 1) return bytes;
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1) return std::nullopt;  // also with a scope: link-local
  const bool link_local = bytes[0] == 0xfe && (bytes[1] & 0xc0U) == 0x80;
  return link_local ? std::nullopt : std::optional(bytes);
}

}  // namespace

std::array<RailWire, most_rails_in_use> to_wire(std::span<const RailEnd> rails) {
  std::array<RailWire, most_rails_in_use> wire{};
  const auto byte = [](unsigned value) { return static_cast<std::uint8_t>(std::min(value, 255U)); };
  for (std::size_t i = 0; i < std::min(rails.size(), wire.size()); ++i) {
    const RailEnd& end = rails[i];
    const GidEntry gid = end.gids.empty() ? GidEntry{} : end.gids.front();
    const unsigned kind = 1U | (end.protocol == Protocol::iwarp ? 2U : 0) | (end.link == LinkLayer::ethernet ? 4U : 0) |
                          static_cast<unsigned>(gid.type) << 3;
    wire[i] = {gid.gid, byte(kind), byte(gid.prefix_bits), byte(end.rail), byte(end.distance)};
  }
  return wire;
}

std::vector<RailEnd> from_wire(std::span<const RailWire> wire) {
  std::vector<RailEnd> rails;
  for (const RailWire& one : wire) {
    if (one.kind == 0) break;
    RailEnd& end = rails.emplace_back();
    end.rail = one.number;
    end.protocol = (one.kind & 2U) != 0 ? Protocol::iwarp : Protocol::infiniband;
    end.link = (one.kind & 4U) != 0 ? LinkLayer::ethernet : LinkLayer::infiniband;
    end.distance = one.distance;
    if (one.gid != Gid{}) end.gids.push_back({0, one.gid, static_cast<GidType>(one.kind >> 3), {}, one.prefix_bits});
  }
  return rails;
}

std::vector<std::byte> encode(const TransportAddress& address) {
  Layout layout;
  layout.port = address.port;
  layout.rails = to_wire(address.rails);
  layout.hosts = static_cast<std::uint8_t>(std::min(most_hosts, address.hosts.size()));
  std::vector<std::byte> bytes(sizeof layout + std::size_t{layout.hosts} * 16);
  std::memcpy(bytes.data(), &layout, sizeof layout);
  for (std::size_t i = 0; i < layout.hosts; ++i)
    std::memcpy(bytes.data() + sizeof layout + i * 16, address.hosts[i].data(), 16);
  return bytes;
}

std::optional<TransportAddress> decode_address(std::span<const std::byte> bytes) {
  Layout layout;
  if (bytes.size() < sizeof layout) return std::nullopt;
  std::memcpy(&layout, bytes.data(), sizeof layout);
  if (layout.version != protocol_version || bytes.size() != sizeof layout + std::size_t{layout.hosts} * 16)
    return std::nullopt;
  TransportAddress address{from_wire(layout.rails), layout.port, {}};
  address.hosts.resize(layout.hosts);
  for (std::size_t i = 0; i < layout.hosts; ++i)
    std::memcpy(address.hosts[i].data(), bytes.data() + sizeof layout + i * 16, 16);
  return address;
}

std::vector<std::array<std::uint8_t, 16>> reachable_hosts(std::span<const core::InterfaceAddress> interfaces,
                                                          const std::string& net_device) {
  std::vector<std::pair<int, std::array<std::uint8_t, 16>>> ranked;
  for (const core::InterfaceAddress& entry : interfaces)
    if (const auto bytes = parse(entry.address))
      ranked.emplace_back(entry.loopback ? 2 : entry.interface == net_device ? 0 : 1, *bytes);
  std::ranges::stable_sort(ranked, {}, [](const auto& entry) { return entry.first; });
  std::vector<std::array<std::uint8_t, 16>> hosts;
  for (const auto& [rank, bytes] : ranked)
    if (rank < 2 || hosts.empty()) hosts.push_back(bytes);
  return hosts;
}

}  // namespace godwit::verbs
