// k-nomial tree broadcast, pipelined in chunks: in each round every rank that takes part deals with radix - 1 others,
// so that there are fewer rounds than in a binomial tree, for more messages one after the other. M. Ruefenacht et al.:
// "Generalisation of recursive doubling for allreduce", Parallel Computing 69 (2017), for what a radix buys.
// Cost (r = ceil(log_radix n)): r rounds; (radix - 1) r vectors sent one after the other by the busiest rank.
#include "collectives/algorithm.hpp"
#include "collectives/trees.hpp"

namespace godwit::collectives {
namespace {

constexpr int radix = 4;

void build_knomial(ScheduleBuilder& b) {
  const Rank root = b.problem().root;
  if (b.rank() == root) b.copy(b.input(), b.output(), b.count());
  tree_broadcast(b, knomial_node(everybody(b), root, radix), b.output(), b.count(), b.problem().chunk());
}

Cost cost_knomial(const Problem& problem) noexcept {
  const Terms t(problem);
  const double rounds = log_ceil(problem.size, radix), served = most_children(problem.size, radix);
  return {
      .rounds = rounds, .bytes = served * t.bytes, .messages = (t.share * pieces(problem, t.bytes) + served - rounds)};
}

}  // namespace

extern const Algorithm broadcast_knomial{"knomial",     "tree", Collective::broadcast, always, cost_knomial,
                                         build_knomial, true};

}  // namespace godwit::collectives
