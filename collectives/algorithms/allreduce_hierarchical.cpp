// Two levels for short vectors: binomial reduction in each node, recursive doubling among one rank of each, binomial
// broadcast in the node. The network carries one message per node and round. H. Zhu, D. Goodell, W. Gropp, R. Thakur:
// "Hierarchical collectives in MPICH2", EuroPVM/MPI 2009.
// Association: each node in the order of its ranks, then nodes in adjacent groups of doubling size; the same bits on
// all ranks.
// Cost (N nodes of k ranks, F = 1 if N is no power of two): 2 ceil(log2 k) rounds and vectors in the node, log2 N + 2 F
// between nodes; ceil(log2 k) + log2 N + F vectors reduced.
#include "collectives/algorithm.hpp"
#include "collectives/halving.hpp"
#include "collectives/trees.hpp"

namespace godwit::collectives {
namespace {

void build_hierarchical(ScheduleBuilder& b) {
  const Nodes nodes(b);
  const TreeNode tree = knomial_node(nodes.node(), 0, 2);
  tree_reduce(b, tree, b.input(), b.output(), b.count(), b.problem().chunk());
  const Team leaders = nodes.leaders();
  if (leaders.has_me()) doubling_allreduce(b, Fold(leaders), b.output(), b.output(), b.count());
  tree_broadcast(b, tree, b.output(), b.count(), b.problem().chunk());
}

Cost cost_hierarchical(const Problem& problem) noexcept {
  const Terms t(problem);
  const NodeTerms n(problem);
  const double between = log2_ceil(power_of_two_below(problem.shape.nodes)) + 2 * n.node_fold;
  const double inside = 2 * n.local_rounds;
  return {.rounds = inside + between,
          .bytes = (inside + between) * t.bytes,
          .messages = (2 * n.local_share + between / n.local) * pieces(problem, t.bytes),
          .reduced = (n.local_rounds + between - n.node_fold) * t.bytes,
          .near_rounds = inside,
          .near_bytes = inside * t.bytes};
}

}  // namespace

extern const Algorithm allreduce_hierarchical{
    "hierarchical", "", Collective::allreduce, two_levels_commutative, cost_hierarchical, build_hierarchical};

}  // namespace godwit::collectives
