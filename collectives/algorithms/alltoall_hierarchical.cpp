// Two levels: the ranks of a node first give each other all blocks for the ranks at their place on any node, so that
// each rank sends one message to each other node, with the blocks of all ranks of its own. Many short messages become
// few. J. L. Traeff, A. Rougier: "MPI collectives and datatypes for hierarchical all-to-all communication",
// EuroMPI/ASIA 2014; for nodes of equal size. In place works as apart.
// Cost (N nodes of k ranks): 1 round and (k - 1) N blocks in the node; 1 round and (N - 1) k blocks between nodes; k +
// N - 2 messages; 3 n blocks and those of the own node copied.
#include "collectives/algorithm.hpp"
#include "collectives/nodes.hpp"

namespace godwit::collectives {
namespace {

bool if_equal_nodes(const Problem& problem) noexcept {
  return two_levels(problem) && problem.size == problem.shape.nodes * problem.shape.ranks_per_node;
}

/// Gives `packed`, sorted by place and node, to the ranks of the node; `arrived` is sorted by rank of this node and
/// node.
void swap_in_node(ScheduleBuilder& b, const Team& node, int nodes, Place packed, Place arrived) {
  b.copy(packed + b.blocks(node.me * nodes), arrived + b.blocks(node.me * nodes), b.blocks(nodes));
  for (int distance = 1; distance < node.size(); ++distance) {
    const int to = (node.me + distance) % node.size(), from = (node.me + node.size() - distance) % node.size();
    b.send_chunks(node[to], packed + b.blocks(to * nodes), b.blocks(nodes));
    b.recv_chunks(node[from], arrived + b.blocks(from * nodes), b.blocks(nodes));
  }
}

/// Both sorted by node and rank there.
void swap_between_nodes(ScheduleBuilder& b, const Team& rail, int local, Place packed, Place arrived) {
  b.copy(packed + b.blocks(rail.me * local), arrived + b.blocks(rail.me * local), b.blocks(local));
  for (int distance = 1; distance < rail.size(); ++distance) {
    const int to = (rail.me + distance) % rail.size(), from = (rail.me + rail.size() - distance) % rail.size();
    b.send_chunks(rail[to], packed + b.blocks(to * local), b.blocks(local));
    b.recv_chunks(rail[from], arrived + b.blocks(from * local), b.blocks(local));
  }
}

void build_hierarchical(ScheduleBuilder& b) {
  const Nodes nodes(b);
  const int count = nodes.count(), local = nodes.rails();
  const Place packed = b.scratch(b.blocks(b.size())), arrived = b.scratch(b.blocks(b.size()));
  const auto at = [&](int node, int place) { return b.blocks(nodes.ranks(node)[static_cast<std::size_t>(place)]); };
  const auto for_each = [&](auto&& visit) {
    for (int node = 0; node < count; ++node)
      for (int place = 0; place < local; ++place) visit(node, place);
  };
  for_each([&](int node, int place) {
    b.copy(b.input(at(node, place)), packed + b.blocks(place * count + node), b.count());
  });
  swap_in_node(b, nodes.node(), count, packed, arrived);
  for_each([&](int node, int place) {
    b.copy(arrived + b.blocks(place * count + node), packed + b.blocks(node * local + place), b.count());
  });
  swap_between_nodes(b, nodes.rail(nodes.local()), local, packed, arrived);
  for_each([&](int node, int place) {
    b.copy(arrived + b.blocks(node * local + place), b.output(at(node, place)), b.count());
  });
}

Cost cost_hierarchical(const Problem& problem) noexcept {
  const Terms t(problem);
  const NodeTerms n(problem);
  const double inside = (n.local - 1) * n.nodes * t.block, between = (n.nodes - 1) * n.local * t.block;
  return {.rounds = 2,
          .bytes = inside + between,
          .messages =
              (n.local - 1) * pieces(problem, n.nodes * t.block) + (n.nodes - 1) * pieces(problem, n.local * t.block),
          .copied = 3 * t.bytes + (n.nodes + n.local) * t.block,
          .near_rounds = 1,
          .near_bytes = inside,
          .sharing = n.local};
}

}  // namespace

extern const Algorithm alltoall_hierarchical{
    "hierarchical", "", Collective::alltoall, if_equal_nodes, cost_hierarchical, build_hierarchical};

}  // namespace godwit::collectives
