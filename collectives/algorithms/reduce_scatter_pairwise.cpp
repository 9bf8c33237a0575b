// Pairwise exchange: every rank sends each block straight to its owner, which reduces as they come, a different
// partner in each round. Thakur, Rabenseifner, Gropp 2005 (long messages). Nothing is sent twice or waits for a chain
// of ranks. With 2 ranks it is one exchange.
// Association of block r: ((x[r] op x[r-1]) op x[r-2]) ..., ranks modulo n.
// Cost: 1 round, for no message waits for another; n - 1 messages, n - 1 blocks sent and reduced.
#include "collectives/algorithm.hpp"

namespace godwit::collectives {
namespace {

void build_pairwise(ScheduleBuilder& b) {
  const int n = b.size();
  Place current = b.input(b.problem().input_block(b.rank()).begin);
  for (int round = 1; round < n; ++round) {
    const Rank to = (b.rank() + round) % n, from = (b.rank() + n - round) % n;
    const Range theirs = b.problem().input_block(to);
    b.send_chunks(to, b.input(theirs.begin), theirs.size());
    b.recv_reduce(from, current, b.output(), b.count(), Order::mine_first);
    current = b.output();
  }
  b.copy(current, b.output(), b.count());  // a single rank has not reduced anything
  b.finish(b.output(), b.count());
}

Cost cost_pairwise(const Problem& problem) noexcept {
  const Terms t(problem);
  return at_all_distances(problem, {.rounds = t.n > 1 ? 1.0 : 0.0,
                                    .bytes = t.share * t.bytes,
                                    .messages = t.others * pieces(problem, t.block),
                                    .reduced = t.share * t.bytes});
}

}  // namespace

extern const Algorithm reduce_scatter_pairwise{
    "pairwise", "", Collective::reduce_scatter, if_commutative, cost_pairwise, build_pairwise};
extern const Algorithm reduce_scatterv_pairwise{
    "pairwise", "", Collective::reduce_scatterv, if_commutative, cost_pairwise, build_pairwise};

}  // namespace godwit::collectives
