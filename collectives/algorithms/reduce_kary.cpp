// k-ary tree reduction, pipelined in chunks: no rank has more than `arity` children, so that a long pipeline moves on
// at the pace of `arity` messages whatever the number of ranks. Textbook; J. Pjesivac-Grbovic et al.: "Performance
// analysis of MPI collective operations", Cluster Computing 10 (2007).
// Association: each rank op its subtrees, in the order of their ranks.
// Cost (d = depth of the tree): d rounds; arity vectors, and arity pieces per further round, go one after the other;
// arity vectors are reduced.
#include "collectives/algorithm.hpp"
#include "collectives/trees.hpp"

#include <algorithm>

namespace godwit::collectives {
namespace {

constexpr int arity = 2;

void build_kary(ScheduleBuilder& b) {
  const Rank root = b.problem().root;
  const TreeNode node = kary_node(everybody(b), root, arity);
  const Place accumulator = b.rank() == root ? b.output() : b.scratch(node.children.empty() ? 0 : b.count());
  tree_reduce(b, node, b.input(), accumulator, b.count(), b.problem().chunk());
  if (b.rank() == root) b.finish(b.output(), b.count());
}

Cost cost_kary(const Problem& problem) noexcept {
  const Terms t(problem);
  const double depth = kary_depth(problem.size, arity), served = std::min<double>(arity, t.others);
  const double piece = t.bytes / pieces(problem, t.bytes);
  return {.rounds = depth,
          .bytes = served * (t.bytes + std::max(0.0, depth - 1) * piece),
          .messages = (t.share * pieces(problem, t.bytes) + std::max(0.0, served - 1) * depth),
          .reduced = served * t.bytes};
}

}  // namespace

extern const Algorithm reduce_kary{"kary", "tree", Collective::reduce, if_commutative, cost_kary, build_kary, true};

}  // namespace godwit::collectives
