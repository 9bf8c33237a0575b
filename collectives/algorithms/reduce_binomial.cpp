// Binomial tree reduction, pipelined in chunks. Textbook; the short message case of Thakur, Rabenseifner, Gropp 2005.
// With 2 ranks it is one message and one reduction, the best at any size.
// Association: see binomial_reduce; it is in the order of ranks for root 0.
// Cost: ceil(log2 n) rounds; the root receives and reduces the vector ceil(log2 n) times.
#include "collectives/algorithm.hpp"
#include "collectives/phases.hpp"

namespace godwit::collectives {
namespace {

bool applies_binomial(const Problem& problem) noexcept { return problem.commutative || problem.root == 0; }

void build_binomial(ScheduleBuilder& b) {
  const Rank root = b.problem().root;
  const bool leaf = relative(b, root) % 2 == 1;
  const Place accumulator = b.rank() == root ? b.output() : leaf ? b.input() : b.scratch(b.count());
  binomial_reduce(b, root, b.input(), accumulator);
  if (b.rank() == root) b.finish(b.output(), b.count());
}

Cost cost_binomial(const Problem& problem) noexcept {
  const Terms t(problem);
  return {.rounds = t.rounds,
          .bytes = t.rounds * t.bytes,
          .messages = t.share * pieces(problem, t.bytes),
          .reduced = t.rounds * t.bytes};
}

}  // namespace

extern const Algorithm reduce_binomial{"binomial",       "tree",        Collective::reduce,
                                       applies_binomial, cost_binomial, build_binomial};

}  // namespace godwit::collectives
