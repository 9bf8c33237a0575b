// Two levels: the broadcast of broadcast_hierarchical backwards: binomial in each node, then over one rank of each,
// pipelined in chunks. Kielmann et al. 1999.
// Association: each rank op the subtrees of its node, nearest first, then those of other nodes.
// Cost (N nodes of k ranks): ceil(log2 k) rounds and vectors in the node, then ceil(log2 N) between nodes, and as many
// vectors reduced.
#include "collectives/algorithm.hpp"
#include "collectives/trees.hpp"

namespace godwit::collectives {
namespace {

void build_hierarchical(ScheduleBuilder& b) {
  const Rank root = b.problem().root;
  const TreeNode node = two_level_node(b, root);
  const Place accumulator = b.rank() == root ? b.output() : b.scratch(node.children.empty() ? 0 : b.count());
  tree_reduce(b, node, b.input(), accumulator, b.count(), b.problem().chunk());
  if (b.rank() == root) b.finish(b.output(), b.count());
}

Cost cost_hierarchical(const Problem& problem) noexcept {
  const Terms t(problem);
  const NodeTerms n(problem);
  const double rounds = n.node_rounds + n.local_rounds;
  return {.rounds = rounds,
          .bytes = rounds * t.bytes,
          .messages = t.share * pieces(problem, t.bytes),
          .reduced = rounds * t.bytes,
          .near_rounds = n.local_rounds,
          .near_bytes = n.local_rounds * t.bytes};
}

}  // namespace

extern const Algorithm reduce_hierarchical{
    "hierarchical", "", Collective::reduce, two_levels_commutative, cost_hierarchical, build_hierarchical};

}  // namespace godwit::collectives
