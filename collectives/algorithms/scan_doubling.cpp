// Doubling: in round k each rank passes what it has to the rank 2^k above, and puts what comes from below before its
// own. Hillis, Steele 1986.
// Association: adjacent groups of ranks, each a power of two of them but for the lowest, in their order.
// Cost: log2 n rounds, as many vectors; as many of them reduced.
#include "collectives/algorithm.hpp"

#include <cmath>

namespace godwit::collectives {
namespace {

void build_doubling(ScheduleBuilder& b) {
  Place mine = b.input();
  for (int distance = 1; distance < b.size(); distance *= 2) {
    const Rank above = b.rank() + distance, below = b.rank() - distance;
    if (above < b.size()) b.send_chunks(above, mine, b.count());
    if (below < 0) continue;
    b.recv_reduce(below, mine, b.output(), b.count(), Order::mine_last);
    mine = b.output();
  }
  b.copy(mine, b.output(), b.count());  // rank 0
}

Cost cost_doubling(const Problem& problem) noexcept {
  const Terms t(problem);
  const double senders = t.n > 1 ? t.rounds - (std::exp2(t.rounds) - 1) / t.n : 0;  // in each round, of all; their sum
  return at_all_distances(problem, {.rounds = t.rounds,
                                    .bytes = t.rounds * t.bytes,
                                    .messages = senders * pieces(problem, t.bytes),
                                    .reduced = t.rounds * t.bytes});
}

}  // namespace

extern const Algorithm scan_doubling{"doubling", "tree", Collective::scan, always, cost_doubling, build_doubling};

}  // namespace godwit::collectives
