// Bruck: any number of ranks in the fewest rounds. J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby: "Efficient
// algorithms for all-to-all communications in multiport message-passing systems", IEEE TPDS 8 (1997). The last rank of
// the first round is the neighbour below, so that received blocks are appended; a rotation puts them in order.
// Cost: ceil(log2 n) rounds; n - 1 blocks sent, n copied.
#include "collectives/algorithm.hpp"

#include <algorithm>

namespace godwit::collectives {
namespace {

void build_bruck(ScheduleBuilder& b) {
  const int n = b.size();
  const Place rotated = b.scratch(b.blocks(n));  // block i is that of rank + i
  b.copy(b.input(), rotated, b.count());
  for (int have = 1; have < n; have *= 2) {
    const int more = std::min(have, n - have);
    b.send((b.rank() - have + n) % n, rotated, b.blocks(more));
    b.recv((b.rank() + have) % n, rotated + b.blocks(have), b.blocks(more));
  }
  b.copy(rotated, b.output(b.blocks(b.rank())), b.blocks(n - b.rank()));
  b.copy(rotated + b.blocks(n - b.rank()), b.output(), b.blocks(b.rank()));
}

Cost cost_bruck(const Problem& problem) noexcept {
  const Terms t(problem);
  return at_all_distances(problem,
                          {.rounds = t.rounds, .bytes = t.others * t.block, .messages = t.rounds, .copied = t.bytes});
}

}  // namespace

extern const Algorithm allgather_bruck{"bruck", "", Collective::allgather, always, cost_bruck, build_bruck};

}  // namespace godwit::collectives
