// Two levels, rail by rail: the i-th ranks of all nodes gather along their rail (Bruck's rounds), then each node's
// ranks exchange what their rails have. Each block enters a node once. H. Zhu, D. Goodell, W. Gropp, R. Thakur:
// "Hierarchical collectives in MPICH2", EuroPVM/MPI 2009; rails as in allreduce_rails. Ranks beyond the smallest node's
// number hand their block to the owner of a rail.
// Cost (N nodes of k ranks): ceil(log2 N) rounds and (N - 1) blocks between nodes; 1 round and (k - 1) N blocks in the
// node; n blocks copied.
#include "collectives/algorithm.hpp"
#include "collectives/circulant.hpp"
#include "collectives/rail_order.hpp"

namespace godwit::collectives {
namespace {

/// The blocks of the builder's node on its rail come to the owner.
void collect(ScheduleBuilder& b, const RailOrder& order, Place sorted) {
  if (!order.owner()) {
    b.send_chunks(order.owner_of(order.rail()), b.input(), b.count());
    return;
  }
  const Range mine = order.of_node(order.rail(), order.nodes().mine());
  for (auto position = static_cast<int>(mine.begin); position < static_cast<int>(mine.end); ++position) {
    const Rank from = order.rank_at(position);
    if (from == b.rank())
      b.copy(b.input(), sorted + b.blocks(position), b.count());
    else
      b.recv_chunks(from, sorted + b.blocks(position), b.count());
  }
}

void exchange_rails(ScheduleBuilder& b, const RailOrder& order, Place sorted) {
  const Team node = order.nodes().node();
  const Range mine = order.of_rail(order.rail());
  for (int distance = 1; distance < node.size(); ++distance) {
    const int to = (node.me + distance) % node.size(), from = (node.me + node.size() - distance) % node.size();
    if (order.owner()) b.send_chunks(node[to], sorted + mine.begin * b.count(), mine.size() * b.count());
    if (from >= order.rails()) continue;
    const Range theirs = order.of_rail(from);
    b.recv_chunks(node[from], sorted + theirs.begin * b.count(), theirs.size() * b.count());
  }
}

void build_hierarchical(ScheduleBuilder& b) {
  const RailOrder order(b);
  const Place sorted = b.scratch(b.blocks(b.size()));
  collect(b, order, sorted);
  if (order.owner())
    circulant_allgather(b, order.nodes().rail(order.rail()), sorted, order.blocks(order.rail(), b.count()));
  exchange_rails(b, order, sorted);
  for (int position = 0; position < b.size(); ++position) {
    const Rank rank = order.rank_at(position);
    b.copy(rank == b.rank() ? b.input() : sorted + b.blocks(position), b.output(b.blocks(rank)), b.count());
  }
}

}  // namespace

extern const Algorithm allgather_hierarchical{"hierarchical",    "", Collective::allgather, two_levels, cost_of_rails,
                                              build_hierarchical};

}  // namespace godwit::collectives
