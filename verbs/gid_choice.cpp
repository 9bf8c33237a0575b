#include "verbs/gid_choice.hpp"

#include <godwit/error.hpp>

#include <fmt/format.h>

#include <arpa/inet.h>
#include <algorithm>
#include <tuple>

namespace godwit::verbs {
namespace {

bool is_ipv4(const Gid& gid) {
  return std::all_of(gid.begin(), gid.begin() + 10, [](std::uint8_t byte) { return byte == 0; }) && gid[10] == 0xff &&
         gid[11] == 0xff;
}

bool is_ipv6_link_local(const Gid& gid) { return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80; }

std::vector<GidEntry> best_of_each_kind(std::span<const GidEntry> table) {
  std::vector<GidEntry> best(table.begin(), table.end());
  std::ranges::sort(best, {}, [](const GidEntry& entry) { return std::pair(kind_of(entry), entry.index); });
  const auto same_kind = [](const GidEntry& one, const GidEntry& other) { return kind_of(one) == kind_of(other); };
  best.erase(std::unique(best.begin(), best.end(), same_kind), best.end());
  return best;
}

std::string preference_words(const GidEntry& entry) {
  switch (kind_of(entry)) {
    case GidKind::infiniband: return "the port's own";
    case GidKind::roce_v2_ipv4: return "RoCE v2 with an IPv4 address comes first";
    case GidKind::roce_v2_ipv6: return "no RoCE v2 GID has an IPv4 address, so a global or unique local IPv6 one";
    case GidKind::roce_v2_ipv4_link_local:
    case GidKind::roce_v2_link_local: return "all RoCE v2 GIDs are link-local";
    case GidKind::roce_v1: return "there is no RoCE v2 GID";
  }
  return {};
}

std::string warning_words(const GidEntry& entry, std::string_view name) {
  const GidKind kind = kind_of(entry);
  if (kind < GidKind::roce_v2_ipv4_link_local) return {};
  const std::string device = entry.net_device.empty() ? "its network interface" : entry.net_device;
  return kind == GidKind::roce_v1
             ? fmt::format(
                   "{}: only RoCE v1 GIDs, which no router forwards; switch RoCE v2 on, or give {} an IP address", name,
                   device)
             : fmt::format(
                   "{}: only link-local GIDs, which reach only link-local GIDs of the same network; give {} an "
                   "IP address",
                   name, device);
}

[[noreturn]] void refuse_index(const PortFacts& port, int index, std::string_view name, std::string_view origin) {
  const bool beyond = port.gids.empty() || static_cast<unsigned>(index) > port.gids.back().index;
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("{}={}: {} has {}; its table:\n{}leave {} unset to have the best one chosen", origin, index, name,
                  beyond ? "no GID with such a high index" : "an empty slot there", gid_table_text(port), origin));
}

}  // namespace

GidKind kind_of(const GidEntry& entry) noexcept {
  if (entry.type == GidType::infiniband) return GidKind::infiniband;
  if (entry.type == GidType::roce_v1) return GidKind::roce_v1;
  if (is_ipv4(entry.gid))
    return entry.gid[12] == 169 && entry.gid[13] == 254 ? GidKind::roce_v2_ipv4_link_local : GidKind::roce_v2_ipv4;
  return is_ipv6_link_local(entry.gid) ? GidKind::roce_v2_link_local : GidKind::roce_v2_ipv6;
}

std::string_view to_string(GidKind kind) noexcept {
  switch (kind) {
    case GidKind::infiniband: return "InfiniBand";
    case GidKind::roce_v2_ipv4: return "RoCE v2, IPv4";
    case GidKind::roce_v2_ipv6: return "RoCE v2, IPv6";
    case GidKind::roce_v2_ipv4_link_local: return "RoCE v2, link-local IPv4";
    case GidKind::roce_v2_link_local: return "RoCE v2, link-local";
    case GidKind::roce_v1: return "RoCE v1";
  }
  return "?";
}

std::string gid_text(const Gid& gid) {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(AF_INET6, gid.data(), text, sizeof text);
  return text;
}

std::string gid_text(const GidEntry& entry) {
  return fmt::format("index {}, {} ({}{}{})", entry.index, gid_text(entry.gid), to_string(kind_of(entry)),
                     entry.net_device.empty() ? "" : ", ", entry.net_device);
}

std::string gid_table_text(const PortFacts& port) {
  if (port.gids.empty()) return "  (empty)\n";
  std::string text;
  for (const GidEntry& entry : port.gids) text += fmt::format("  {}\n", gid_text(entry));
  return text;
}

GidChoice choose_gid(const PortFacts& port, Protocol protocol, int index, std::string_view name,
                     std::string_view origin) {
  if (index >= 0 && protocol != Protocol::iwarp) {
    const auto found = std::ranges::find(port.gids, static_cast<unsigned>(index), &GidEntry::index);
    if (found == port.gids.end()) refuse_index(port, index, name, origin);
    return {{*found}, fmt::format("{}={}", origin, index), {}};
  }
  GidChoice choice{best_of_each_kind(port.gids), {}, {}};
  if (protocol == Protocol::iwarp) {
    choice.reason = port.net_device.empty() ? "iWARP, addressed by IP"
                                            : fmt::format("iWARP, addressed by the IP address of {}", port.net_device);
  } else if (choice.gids.empty()) {
    choice.reason = port.link == LinkLayer::infiniband
                        ? "no GID, the LID is enough within a subnet"
                        : "its GID table is empty: has its network interface an address, is it in this container?";
  } else {
    choice.reason = preference_words(choice.gids.front());
    choice.warning = warning_words(choice.gids.front(), name);
  }
  return choice;
}

std::optional<std::pair<std::size_t, std::size_t>> match_gids(std::span<const GidEntry> local,
                                                              std::span<const GidEntry> remote) {
  // The ends see mirrored tables, so the order of preference must not depend on which one is local.
  using Key = std::tuple<GidKind, bool, unsigned, Gid, Gid>;
  std::optional<Key> best;
  std::pair<std::size_t, std::size_t> pair;
  for (std::size_t mine = 0; mine < local.size(); ++mine)
    for (std::size_t theirs = 0; theirs < remote.size(); ++theirs) {
      const GidEntry &one = local[mine], &other = remote[theirs];
      if (kind_of(one) != kind_of(other)) continue;
      const Key key{kind_of(one), !same_subnet(one, other), one.index + other.index, std::min(one.gid, other.gid),
                    std::max(one.gid, other.gid)};
      if (best && *best <= key) continue;
      best = key;
      pair = {mine, theirs};
    }
  return best ? std::optional(pair) : std::nullopt;
}

std::optional<GidEntry> find_again(const GidEntry& entry, const PortFacts& port) {
  std::optional<GidEntry> other_interface;
  for (const GidEntry& now : port.gids) {
    if (now.gid != entry.gid || now.type != entry.type) continue;
    if (now.net_device == entry.net_device) return now;
    if (!other_interface) other_interface = now;
  }
  return other_interface;
}

bool same_subnet(const GidEntry& left, const GidEntry& right) noexcept {
  const bool infiniband = left.type == GidType::infiniband;
  if (left.type != right.type) return false;
  if (!infiniband && (left.prefix_bits == 0 || left.prefix_bits != right.prefix_bits)) return false;
  const unsigned bits = infiniband ? 64 : left.prefix_bits;
  for (unsigned bit = 0; bit < bits; ++bit)
    if (((left.gid[bit / 8] ^ right.gid[bit / 8]) & (0x80U >> bit % 8)) != 0) return false;
  return true;
}

}  // namespace godwit::verbs
