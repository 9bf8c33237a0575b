// Binomial reduction to rank 0 and binomial broadcast: few messages in all, which counts when ranks share CPUs.
// Association: in the order of ranks, see binomial_reduce.
// Cost: 2 ceil(log2 n) rounds, as many vectors on the way through rank 0; 2 (n - 1) messages in all.
#include "collectives/algorithm.hpp"
#include "collectives/phases.hpp"

namespace godwit::collectives {
namespace {

void build_binomial(ScheduleBuilder& b) {
  binomial_reduce(b, 0, b.input(), b.output());
  if (b.rank() == 0) b.finish(b.output(), b.count());
  binomial_broadcast(b, 0, b.output());
}

Cost cost_binomial(const Problem& problem) noexcept {
  const Terms t(problem);
  return {.rounds = 2 * t.rounds,
          .bytes = 2 * t.rounds * t.bytes,
          .messages = 2 * t.share * pieces(problem, t.bytes),
          .reduced = t.rounds * t.bytes};
}

}  // namespace

extern const Algorithm allreduce_binomial{"binomial", "tree",        Collective::allreduce,
                                          always,     cost_binomial, build_binomial};

}  // namespace godwit::collectives
