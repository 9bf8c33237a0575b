#include "verbs/rails.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

#include "verbs/gid_choice.hpp"

namespace godwit::verbs {
namespace {

struct Candidate {
  RailPair pair;
  bool infiniband_protocol = false;
  LinkLayer link = LinkLayer::infiniband;
  GidKind kind = GidKind::infiniband;
  double rate_Gbps = 0;
  unsigned low_rail = 0, high_rail = 0;

  // Smaller is better. Symmetric: the peer, with local and remote exchanged, has the same order.
  auto key() const {
    return std::tuple(!infiniband_protocol, !pair.same_subnet, -rate_Gbps, kind, high_rail - low_rail, low_rail);
  }
};

std::optional<Candidate> candidate(std::span<const RailEnd> local, std::span<const RailEnd> remote, std::size_t mine,
                                   std::size_t theirs, bool same_host) {
  const RailEnd &one = local[mine], &other = remote[theirs];
  if (one.protocol != other.protocol || one.link != other.link) return std::nullopt;
  if (same_host && one.rail != other.rail) return std::nullopt;
  Candidate found;
  found.pair = {mine, theirs, 0, 0, false};
  found.infiniband_protocol = one.protocol == Protocol::infiniband;
  found.link = one.link;
  found.rate_Gbps = std::min(one.rate_Gbps, other.rate_Gbps);
  found.low_rail = std::min(one.rail, other.rail);
  found.high_rail = std::max(one.rail, other.rail);
  if (const auto gids = match_gids(one.gids, other.gids)) {
    found.pair.local_gid = gids->first;
    found.pair.remote_gid = gids->second;
    const GidEntry& gid = one.gids[gids->first];
    found.kind = kind_of(gid);
    found.pair.same_subnet = same_subnet(gid, other.gids[gids->second]);
  } else if (found.infiniband_protocol && one.link == LinkLayer::ethernet) {
    return std::nullopt;  // RoCE needs GIDs of one kind
  } else if (found.infiniband_protocol) {
    found.pair.same_subnet = one.gids.empty() && other.gids.empty();  // LIDs alone: there is no other subnet
  }
  return found;
}

}  // namespace

std::vector<RailPair> pair_ports(std::span<const RailEnd> local, std::span<const RailEnd> remote, bool same_host) {
  std::vector<Candidate> candidates;
  for (std::size_t mine = 0; mine < local.size(); ++mine)
    for (std::size_t theirs = 0; theirs < remote.size(); ++theirs)
      if (const auto found = candidate(local, remote, mine, theirs, same_host)) candidates.push_back(*found);
  if (candidates.empty()) return {};
  std::ranges::sort(candidates, {}, &Candidate::key);
  const Candidate best = candidates.front();
  std::vector<bool> taken_here(local.size()), taken_there(remote.size());
  std::vector<RailPair> pairs;
  for (const Candidate& next : candidates) {
    if (next.infiniband_protocol != best.infiniband_protocol || next.link != best.link ||
        next.pair.same_subnet != best.pair.same_subnet)
      continue;
    if (taken_here[next.pair.local] || taken_there[next.pair.remote]) continue;
    taken_here[next.pair.local] = taken_there[next.pair.remote] = true;
    pairs.push_back(next.pair);
  }
  return pairs;
}

}  // namespace godwit::verbs
