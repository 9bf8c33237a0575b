// Two levels, rail by rail: the ranks of a node give the owner of each rail their blocks for all ranks on it, the rails
// reduce and scatter between nodes, and the owners hand on what is for other ranks of their node. Each node sends each
// block once. allgather_hierarchical backwards; Zhu, Goodell, Gropp, Thakur 2009.
// Association: in the node from the owner on, then as circulant_reduce_scatter.
// Cost (N nodes of k ranks): 1 round and (k - 1) N blocks in the node; ceil(log2 N) rounds and (N - 1) blocks between
// nodes; as many blocks reduced, and n copied.
#include "collectives/algorithm.hpp"
#include "collectives/circulant.hpp"
#include "collectives/rail_order.hpp"

namespace godwit::collectives {
namespace {

void reduce_in_node(ScheduleBuilder& b, const RailOrder& order, Place sorted) {
  const Team node = order.nodes().node();
  const Range mine = order.of_rail(order.rail());
  for (int distance = 1; distance < node.size(); ++distance) {
    const int to = (node.me + distance) % node.size(), from = (node.me + node.size() - distance) % node.size();
    if (to < order.rails()) {
      const Range theirs = order.of_rail(to);
      b.send_chunks(node[to], sorted + theirs.begin * b.count(), theirs.size() * b.count());
    }
    const Place sum = sorted + mine.begin * b.count();
    if (order.owner()) b.recv_reduce(node[from], sum, sum, mine.size() * b.count(), Order::mine_first);
  }
}

/// The owner's blocks of its node are at `sums`, its own first.
void hand_on(ScheduleBuilder& b, const RailOrder& order, Place sums) {
  const Range mine = order.of_node(order.rail(), order.nodes().mine());
  b.finish(sums, mine.size() * b.count());
  b.copy(sums, b.output(), b.count());
  for (auto position = static_cast<int>(mine.begin) + 1; position < static_cast<int>(mine.end); ++position)
    b.send_chunks(order.rank_at(position), sums + b.blocks(position - static_cast<int>(mine.begin)), b.count());
}

void build_hierarchical(ScheduleBuilder& b) {
  const RailOrder order(b);
  const Place sorted = b.scratch(b.blocks(b.size()));
  for (int position = 0; position < b.size(); ++position)
    b.copy(b.input(b.blocks(order.rank_at(position))), sorted + b.blocks(position), b.count());
  reduce_in_node(b, order, sorted);
  if (!order.owner()) return b.recv_chunks(order.owner_of(order.rail()), b.output(), b.count());
  const std::uint64_t here = order.of_node(order.rail(), order.nodes().mine()).size();
  const Place sums = here == 1 ? b.output() : b.scratch(here * b.count());
  circulant_reduce_scatter(b, order.nodes().rail(order.rail()), sorted, sorted, sums,
                           order.blocks(order.rail(), b.count()));
  hand_on(b, order, sums);
}

Cost cost_hierarchical(const Problem& problem) noexcept {
  Cost cost = cost_of_rails(problem);
  cost.reduced = cost.bytes;
  return cost;
}

}  // namespace

extern const Algorithm reduce_scatter_hierarchical{
    "hierarchical", "", Collective::reduce_scatter, two_levels_commutative, cost_hierarchical, build_hierarchical};

}  // namespace godwit::collectives
