// k-nomial tree reduction to rank 0 and broadcast, pipelined in chunks: in each round every rank that takes part deals
// with radix - 1 others, so that there are fewer rounds than in a binomial tree, for more messages one after the other.
// M. Ruefenacht et al.: "Generalisation of recursive doubling for allreduce", Parallel Computing 69 (2017), for what a
// radix buys.
// Association: each rank op its subtrees, nearest first; in the order of ranks.
// Cost (r = ceil(log_radix n)): 2 r rounds; 2 (radix - 1) r vectors sent one after the other by the busiest rank, of
// which reductions take (radix - 1) r.
#include "collectives/algorithm.hpp"
#include "collectives/trees.hpp"

namespace godwit::collectives {
namespace {

constexpr int radix = 4;

void build_knomial(ScheduleBuilder& b) {
  const TreeNode node = knomial_node(everybody(b), 0, radix);
  tree_reduce(b, node, b.input(), b.output(), b.count(), b.problem().chunk());
  if (b.rank() == 0) b.finish(b.output(), b.count());
  tree_broadcast(b, node, b.output(), b.count(), b.problem().chunk());
}

Cost cost_knomial(const Problem& problem) noexcept {
  const Terms t(problem);
  const double rounds = log_ceil(problem.size, radix), served = most_children(problem.size, radix);
  return {.rounds = 2 * rounds,
          .bytes = 2 * served * t.bytes,
          .messages = 2 * (t.share * pieces(problem, t.bytes) + served - rounds),
          .reduced = served * t.bytes};
}

}  // namespace

extern const Algorithm allreduce_knomial{"knomial",     "tree", Collective::allreduce, always, cost_knomial,
                                         build_knomial, true};

}  // namespace godwit::collectives
