// k-ary tree reduction to rank 0 and broadcast, pipelined in chunks: no rank has more than `arity` children, so that a
// long pipeline moves on at the pace of `arity` messages whatever the number of ranks. Textbook; J. Pjesivac-Grbovic et
// al.: "Performance analysis of MPI collective operations", Cluster Computing 10 (2007).
// Association: each rank op its subtrees, in the order of their ranks.
// Cost (d = depth of the tree): 2 d rounds; 2 arity vectors, and 2 arity pieces per further round, go one after the
// other; arity vectors are reduced.
#include "collectives/algorithm.hpp"
#include "collectives/trees.hpp"

#include <algorithm>

namespace godwit::collectives {
namespace {

constexpr int arity = 2;

void build_kary(ScheduleBuilder& b) {
  const TreeNode node = kary_node(everybody(b), 0, arity);
  tree_reduce(b, node, b.input(), b.output(), b.count(), b.problem().chunk());
  if (b.rank() == 0) b.finish(b.output(), b.count());
  tree_broadcast(b, node, b.output(), b.count(), b.problem().chunk());
}

Cost cost_kary(const Problem& problem) noexcept {
  const Terms t(problem);
  const double depth = kary_depth(problem.size, arity), served = std::min<double>(arity, t.others);
  const double piece = t.bytes / pieces(problem, t.bytes);
  return {.rounds = 2 * depth,
          .bytes = 2 * served * (t.bytes + std::max(0.0, depth - 1) * piece),
          .messages = 2 * (t.share * pieces(problem, t.bytes) + std::max(0.0, served - 1) * depth),
          .reduced = served * t.bytes};
}

}  // namespace

extern const Algorithm allreduce_kary{"kary",     "tree", Collective::allreduce, if_commutative, cost_kary,
                                      build_kary, true};

}  // namespace godwit::collectives
