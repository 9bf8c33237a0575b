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

/// Each rank's run of `each` blocks goes from its place in `packed` to the sender's place in `arrived`.
void swap(ScheduleBuilder& b, const Team& team, int each, Place packed, Place arrived) {
  b.copy(packed + b.blocks(team.me * each), arrived + b.blocks(team.me * each), b.blocks(each));
  for (int distance = 1; distance < team.size(); ++distance) {
    const int to = (team.me + distance) % team.size(), from = (team.me + team.size() - distance) % team.size();
    b.send_chunks(team[to], packed + b.blocks(to * each), b.blocks(each));
    b.recv_chunks(team[from], arrived + b.blocks(from * each), b.blocks(each));
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
  swap(b, nodes.node(), count, packed, arrived);  // sorted by place and node
  for_each([&](int node, int place) {
    b.copy(arrived + b.blocks(place * count + node), packed + b.blocks(node * local + place), b.count());
  });
  swap(b, nodes.rail(nodes.local()), local, packed, arrived);  // sorted by node and place
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
