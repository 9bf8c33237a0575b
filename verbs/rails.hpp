// Several ports per host: which port of ours talks to which port of a peer. Pure. Threads: any.
//
// A pair speaks the same protocol, over the same link layer, with GIDs of one kind. Ports of one subnet belong
// together; only if no two do (rails routed at layer 3, or prefixes not known) does any pair go. Then equal rail
// numbers, which are positions in the host's order of names, not in a list ordered by distance.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "verbs/facts.hpp"

namespace godwit::verbs {

/// What both ends know of a port.
struct RailEnd {
  unsigned rail = 0;
  Protocol protocol = Protocol::infiniband;
  LinkLayer link = LinkLayer::infiniband;
  double rate_Gbps = 0;
  std::vector<GidEntry> gids;  // GidChoice::gids
  unsigned distance = 0;       // from the process, as the firmware tells
};

struct RailPair {
  std::size_t local = 0, remote = 0;          // positions
  std::size_t local_gid = 0, remote_gid = 0;  // positions in their gids; 0 where there are none
  bool same_subnet = false;
  friend bool operator==(const RailPair&, const RailPair&) = default;
};

/// Each port is in one pair at most; all pairs are of the protocol and link layer of the best one, which comes first.
/// Empty: no way. The peer, with both lists exchanged, comes to the same pairs. `same_host`: only a port with itself,
/// because packets between two adapters of a host seldom find their way.
std::vector<RailPair> pair_ports(std::span<const RailEnd> local, std::span<const RailEnd> remote,
                                 bool same_host = false);

}  // namespace godwit::verbs
