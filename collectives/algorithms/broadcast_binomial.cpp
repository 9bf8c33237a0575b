// Binomial tree broadcast, pipelined in chunks: the root sends to its farthest child first. Textbook; the short
// message case of R. Thakur, R. Rabenseifner, W. Gropp: "Optimization of collective communication operations in
// MPICH", IJHPCA 19 (2005). With 2 ranks it is one message, the best at any size.
// Cost: ceil(log2 n) rounds; the root sends the vector ceil(log2 n) times.
#include "collectives/algorithm.hpp"
#include "collectives/phases.hpp"

namespace godwit::collectives {
namespace {

void build_binomial(ScheduleBuilder& b) {
  const Rank root = b.problem().root;
  if (b.rank() == root) b.copy(b.input(), b.output(), b.count());
  binomial_broadcast(b, root, b.output());
}

Cost cost_binomial(const Problem& problem) noexcept {
  const Terms t(problem);
  return {.rounds = t.rounds, .bytes = t.rounds * t.bytes, .messages = t.share * pieces(problem, t.bytes)};
}

}  // namespace

extern const Algorithm broadcast_binomial{"binomial", "tree",        Collective::broadcast,
                                          always,     cost_binomial, build_binomial};

}  // namespace godwit::collectives
