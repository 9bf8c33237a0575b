#include "verbs/routes.hpp"

#include "verbs/queue_pair.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace godwit::verbs {
namespace {

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

std::vector<Route> ways(std::span<const RailEnd> here, std::span<const RailEnd> there, bool same_host) {
  std::vector<Route> routes;
  for (const RailPair& pair : pair_ports(here, there, same_host))
    if (cannot_connect(here[pair.local], there[pair.remote]).empty())
      routes.push_back({static_cast<std::uint8_t>(pair.local), static_cast<std::uint8_t>(pair.remote)});
  return routes;
}

}  // namespace

std::vector<Route> find_routes(std::span<const RailEnd> here, std::span<const RailEnd> there, Rank rank, Rank peer,
                               bool same_host) {
  std::vector<Route> routes = ways(here, there, same_host);
  if (routes.empty() && same_host) routes = ways(here, there, false);
  // Kinds of GIDs that are not known to fit may all the same.
  if (routes.empty() && !here.empty() && !there.empty() && cannot_connect(here.front(), there.front()).empty())
    routes.push_back({});
  std::ranges::sort(routes, {}, [&](const Route& route) {
    const unsigned distance = here[route.here].distance + there[route.there].distance;
    const auto [low, high] = rank < peer ? std::pair(route.here, route.there) : std::pair(route.there, route.here);
    return std::tuple(distance, (rank + peer) % 2 == 0 ? low : -low, high);
  });
  return routes;
}

std::string cannot_connect(const RailEnd& here, const RailEnd& there) {
  const GidEntry mine = here.gids.empty() ? GidEntry{} : here.gids.front();
  const GidEntry theirs = there.gids.empty() ? GidEntry{} : there.gids.front();
  if (here.protocol != there.protocol || here.link != there.link)
    return fmt::format("here {}, there {}", words(here.protocol, here.link), words(there.protocol, there.link));
  const bool roce = here.link == LinkLayer::ethernet && here.protocol == Protocol::infiniband;
  if (roce && mine.type != theirs.type)
    return fmt::format("GID types differ: here {} ({}), there {} ({}); GODWIT_IB_GID_INDEX chooses another",
                       words(mine.type), to_text(mine.gid), words(theirs.type), to_text(theirs.gid));
  if (roce && is_ipv4(mine.gid) != is_ipv4(theirs.gid))
    return fmt::format(
        "GIDs of IPv4 and IPv6 do not reach each other: here {}, there {}; give both network interfaces "
        "addresses of the same kind, or GODWIT_IB_GID_INDEX chooses another (`godwit ibstat` lists them)",
        to_text(mine.gid), to_text(theirs.gid));
  if (here.link == LinkLayer::infiniband && !std::equal(mine.gid.begin(), mine.gid.begin() + 8, theirs.gid.begin()))
    return fmt::format("other InfiniBand subnet (GIDs {} and {})", to_text(mine.gid), to_text(theirs.gid));
  return {};
}

}  // namespace godwit::verbs
