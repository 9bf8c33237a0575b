#include "collectives/surroundings.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace godwit::collectives {

namespace {

constexpr int sample = 64;

/// The node of each rank if `looked_at`, the nodes of the first ranks, show another order than full nodes one after the
/// other; null else, and where the order of the remaining ranks cannot be told.
std::unique_ptr<const std::vector<int>> order_of(const std::vector<int>& looked_at, int size, NodeShape& shape) {
  bool filled = true, dealt = true;
  const int nodes = 1 + *std::ranges::max_element(looked_at);
  for (std::size_t rank = 0; rank < looked_at.size(); ++rank) {
    filled &= looked_at[rank] == static_cast<int>(rank) / shape.ranks_per_node;
    dealt &= looked_at[rank] == static_cast<int>(rank) % nodes;
  }
  if (filled || nodes == 1) return nullptr;
  auto order = std::make_unique<std::vector<int>>(looked_at);
  if (static_cast<int>(looked_at.size()) == size) return order;
  if (!dealt || nodes == static_cast<int>(looked_at.size())) return nullptr;
  for (int rank = static_cast<int>(looked_at.size()); rank < size; ++rank) order->push_back(rank % nodes);
  shape = {nodes, (size + nodes - 1) / nodes};
  return order;
}

}  // namespace

Surroundings look_around(int size, const std::function<const core::Card&(Rank)>& card) {
  struct Sharers {
    int ranks = 0;
    int cpus = 1;
  };
  std::map<std::uint64_t, int> nodes;                                  // by boot id
  std::map<std::pair<std::uint64_t, std::uint32_t>, Sharers> sharers;  // by boot id and CPU mask
  const int looked_at = std::min(size, sample);
  std::map<std::uint64_t, int> numbers;  // of the nodes, by boot id
  std::vector<int> node_of;
  for (Rank rank = 0; rank < looked_at; ++rank) {
    const core::Card& c = card(rank);
    ++nodes[c.host.boot];
    node_of.push_back(numbers.try_emplace(c.host.boot, static_cast<int>(numbers.size())).first->second);
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
  result.node_of = order_of(node_of, size, result.shape);
  result.shape.node_of = result.node_of.get();
  return result;
}

}  // namespace godwit::collectives
