// Which GID of a port to use: pure functions over its table. Threads: any.
//
// RoCE: v2 with an IPv4 address, v2 with a global or unique local IPv6 one, v2 with a link-local one, v1; among equals
// the lowest index. A link-local GID reaches only link-local GIDs, and so on: ends agree on a kind (match_gids), or
// packets go nowhere. InfiniBand: index 0, needed only between subnets. iWARP addresses by IP: the GID says nothing.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "verbs/facts.hpp"

namespace godwit::verbs {

enum class GidKind : std::uint8_t {  // best first; only equal kinds reach each other
  infiniband,
  roce_v2_ipv4,
  roce_v2_ipv6,
  roce_v2_ipv4_link_local,  // 169.254.0.0/16
  roce_v2_link_local,
  roce_v1,
};
GidKind kind_of(const GidEntry& entry) noexcept;
std::string_view to_string(GidKind kind) noexcept;  // "RoCE v2, IPv4"
std::string gid_text(const Gid& gid);               // "::ffff:10.0.0.1"
std::string gid_text(const GidEntry& entry);        // "index 3, ::ffff:10.0.0.1 (RoCE v2, IPv4, eth0)"
std::string gid_table_text(const PortFacts& port);  // one such line per entry, with newlines; or says that it is empty

struct GidChoice {
  std::vector<GidEntry> gids;  // the lowest index of each kind, best first; empty: the port has none
  std::string reason;          // why gids.front(); or why none
  std::string warning;         // empty: none
};

/// `index` -1: by preference. Throws Error(invalid_argument) that lists the table if the slot `index` is out of range
/// or empty; `name` is the port's and `origin` the variable's name for that.
GidChoice choose_gid(const PortFacts& port, Protocol protocol, int index, std::string_view name,
                     std::string_view origin);

/// The best kind that both ends have: positions in `local` and `remote`. Both ends come to the same pair.
std::optional<std::pair<std::size_t, std::size_t>> match_gids(std::span<const GidEntry> local,
                                                              std::span<const GidEntry> remote);

/// Where `entry`'s GID is now: after a flap the kernel may have put it into another slot. Nothing: it is gone.
std::optional<GidEntry> find_again(const GidEntry& entry, const PortFacts& port);

/// Of the same subnet, as far as that is known. InfiniBand: the first 64 bits are equal.
bool same_subnet(const GidEntry& left, const GidEntry& right) noexcept;

}  // namespace godwit::verbs
