// k-nomial tree reduction, pipelined in chunks: in each round every rank that takes part deals with radix - 1 others,
// so that there are fewer rounds than in a binomial tree, for more messages one after the other. M. Ruefenacht et al.:
// "Generalisation of recursive doubling for allreduce", Parallel Computing 69 (2017), for what a radix buys.
// Association: each rank op its subtrees, nearest first; in the order of ranks for root 0.
// Cost (r = ceil(log_radix n)): r rounds; (radix - 1) r vectors sent one after the other by the busiest rank, of which
// reductions take (radix - 1) r.
#include "collectives/algorithm.hpp"
#include "collectives/trees.hpp"

namespace godwit::collectives {
namespace {

constexpr int radix = 4;

bool keeps_order(const Problem& problem) noexcept { return problem.commutative || problem.root == 0; }

void build_knomial(ScheduleBuilder& b) {
  const Rank root = b.problem().root;
  const TreeNode node = knomial_node(everybody(b), root, radix);
  const Place accumulator = b.rank() == root ? b.output() : b.scratch(node.children.empty() ? 0 : b.count());
  tree_reduce(b, node, b.input(), accumulator, b.count(), b.problem().chunk());
  if (b.rank() == root) b.finish(b.output(), b.count());
}

Cost cost_knomial(const Problem& problem) noexcept {
  const Terms t(problem);
  const double rounds = log_ceil(problem.size, radix), served = most_children(problem.size, radix);
  return {.rounds = rounds,
          .bytes = served * t.bytes,
          .messages = (t.share * pieces(problem, t.bytes) + served - rounds),
          .reduced = served * t.bytes};
}

}  // namespace

extern const Algorithm reduce_knomial{"knomial",     "tree", Collective::reduce, keeps_order, cost_knomial,
                                      build_knomial, true};

}  // namespace godwit::collectives
