// Two levels: a binomial tree over one rank of each node, below it one over the ranks of each node, pipelined in
// chunks. Every node receives the vector once. T. Kielmann et al.: "MagPIe: MPI's collective communication operations
// for clustered wide area systems", PPoPP 1999.
// Cost (N nodes of k ranks): ceil(log2 N) rounds and vectors between nodes, then ceil(log2 k) in the node.
#include "collectives/algorithm.hpp"
#include "collectives/trees.hpp"

namespace godwit::collectives {
namespace {

void build_hierarchical(ScheduleBuilder& b) {
  const Rank root = b.problem().root;
  if (b.rank() == root) b.copy(b.input(), b.output(), b.count());
  tree_broadcast(b, two_level_node(b, root), b.output(), b.count(), b.problem().chunk());
}

Cost cost_hierarchical(const Problem& problem) noexcept {
  const Terms t(problem);
  const NodeTerms n(problem);
  return {.rounds = n.node_rounds + n.local_rounds,
          .bytes = (n.node_rounds + n.local_rounds) * t.bytes,
          .messages = t.share * pieces(problem, t.bytes),
          .near_rounds = n.local_rounds,
          .near_bytes = n.local_rounds * t.bytes};
}

}  // namespace

extern const Algorithm broadcast_hierarchical{
    "hierarchical", "", Collective::broadcast, two_levels, cost_hierarchical, build_hierarchical};

}  // namespace godwit::collectives
