// With which of a peer's rails each of ours is connected. Pure. Threads: any.
#pragma once

#include "verbs/rails.hpp"

#include <godwit/types.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace godwit::verbs {

/// One of our rails and one of the peer's: positions in the lists of those in use.
struct Route {
  std::uint8_t here = 0, there = 0;
  friend bool operator==(const Route&, const Route&) = default;
};

/// Best first: nearest to both processes; among equals it alternates from pair of ranks to pair of ranks. The peer,
/// with all exchanged, comes to the same routes in the same order. Empty: no way.
std::vector<Route> find_routes(std::span<const RailEnd> here, std::span<const RailEnd> there, Rank rank, Rank peer,
                               bool same_host);

/// Can a queue pair connect the two? Empty: yes, else why not.
std::string cannot_connect(const RailEnd& here, const RailEnd& there);

}  // namespace godwit::verbs
