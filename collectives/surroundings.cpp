#include "collectives/surroundings.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace godwit::collectives {

namespace {

constexpr int sample = 64;

}  // namespace

Surroundings look_around(int size, const std::function<const core::Card&(Rank)>& card) {
  struct Sharers {
    int ranks = 0;
    int cpus = 1;
  };
  std::map<std::uint64_t, int> nodes;                                  // by boot id
  std::map<std::pair<std::uint64_t, std::uint32_t>, Sharers> sharers;  // by boot id and CPU mask
  const int looked_at = std::min(size, sample);
  for (Rank rank = 0; rank < looked_at; ++rank) {
    const core::Card& c = card(rank);
    ++nodes[c.host.boot];
    Sharers& s = sharers[{c.host.boot, c.cpu_hash}];
    ++s.ranks;
    s.cpus = std::max<int>(1, c.cpu_count);
  }
  Surroundings result;
  for (const auto& [mask, s] : sharers)
    result.crowding = std::max(result.crowding, static_cast<double>(s.ranks) / static_cast<double>(s.cpus));
  if (nodes.size() == 1 && card(size - 1).host.boot == nodes.begin()->first) {
    result.shape = {1, size};
    return result;
  }
  for (const auto& [boot, ranks] : nodes) result.shape.ranks_per_node = std::max(result.shape.ranks_per_node, ranks);
  const int further = (size - looked_at + result.shape.ranks_per_node - 1) / result.shape.ranks_per_node;
  result.shape.nodes = static_cast<int>(nodes.size()) + further;
  return result;
}

}  // namespace godwit::collectives
