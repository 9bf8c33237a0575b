#include "verbs/address.hpp"

#include "verbs/queue_pair.hpp"
#include "verbs/wire.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include <arpa/inet.h>

namespace godwit::verbs {
namespace {

constexpr std::size_t most_hosts = 3;

struct Layout {
  std::uint8_t version = protocol_version;
  Protocol protocol{};
  LinkLayer link{};
  GidType gid_type{};
  std::uint16_t port = 0;
  std::uint8_t hosts = 0;
  std::uint8_t pad = 0;
  Gid gid{};
};
static_assert(sizeof(Layout) + most_hosts * 16 <= 96);

std::optional<std::array<std::uint8_t, 16>> parse(const std::string& text) {
  std::array<std::uint8_t, 16> bytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (::inet_pton(AF_INET, text.c_str(), bytes.data() + 12) == 1) return bytes;
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1) return std::nullopt;  // also with a scope: link-local
  const bool link_local = bytes[0] == 0xfe && (bytes[1] & 0xc0U) == 0x80;
  return link_local ? std::nullopt : std::optional(bytes);
}

const char* words(Protocol protocol, LinkLayer link) {
  if (protocol == Protocol::iwarp) return "iWARP";
  return link == LinkLayer::ethernet ? "RoCE" : "InfiniBand";
}

const char* words(GidType type) {
  return type == GidType::roce_v1 ? "RoCE v1" : type == GidType::roce_v2 ? "RoCE v2" : "InfiniBand";
}

bool is_ipv4(const Gid& gid) {
  constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(mapped.begin(), mapped.end(), gid.begin());
}

}  // namespace

std::vector<std::byte> encode(const TransportAddress& address) {
  Layout layout;
  layout.protocol = address.protocol;
  layout.link = address.link;
  layout.gid_type = address.gid_type;
  layout.port = address.port;
  layout.gid = address.gid;
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
  TransportAddress address{layout.protocol, layout.link, layout.gid_type, layout.gid, layout.port, {}};
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

std::string cannot_connect(const TransportAddress& here, const TransportAddress& there) {
  if (here.protocol != there.protocol || here.link != there.link)
    return fmt::format("here {}, there {}", words(here.protocol, here.link), words(there.protocol, there.link));
  if (here.link == LinkLayer::ethernet && here.protocol == Protocol::infiniband && here.gid_type != there.gid_type)
    return fmt::format("GID types differ: here {} ({}), there {} ({}); GODWIT_IB_GID_INDEX chooses another",
                       words(here.gid_type), to_text(here.gid), words(there.gid_type), to_text(there.gid));
  if (here.link == LinkLayer::ethernet && here.protocol == Protocol::infiniband &&
      is_ipv4(here.gid) != is_ipv4(there.gid))
    return fmt::format(
        "GIDs of IPv4 and IPv6 do not reach each other: here {}, there {}; give both network interfaces "
        "addresses of the same kind, or GODWIT_IB_GID_INDEX chooses another (`godwit ibstat` lists them)",
        to_text(here.gid), to_text(there.gid));
  if (here.link == LinkLayer::infiniband && !std::equal(here.gid.begin(), here.gid.begin() + 8, there.gid.begin()))
    return fmt::format("other InfiniBand subnet (GIDs {} and {})", to_text(here.gid), to_text(there.gid));
  return {};
}

}  // namespace godwit::verbs
