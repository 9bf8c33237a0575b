// Recursive doubling: ranks at distance 2^k exchange all they have; powers of two only. Thakur, Rabenseifner, Gropp
// 2005. With 2 ranks it is one exchange.
// Cost: log2 n rounds; n - 1 blocks sent.
#include "collectives/algorithm.hpp"

#include <bit>

namespace godwit::collectives {
namespace {

bool if_power_of_two(const Problem& problem) noexcept {
  return std::has_single_bit(static_cast<unsigned>(problem.size));
}

void build_recursive_doubling(ScheduleBuilder& b) {
  b.copy(b.input(), b.output(b.blocks(b.rank())), b.count());
  for (int width = 1; width < b.size(); width *= 2) {
    const int mine = b.rank() & ~(width - 1), peer = b.rank() ^ width;
    if (width == 1)
      b.send_chunks(peer, b.input(), b.blocks(1));  // need not wait for the copy
    else
      b.send_chunks(peer, b.output(b.blocks(mine)), b.blocks(width));
    b.recv_chunks(peer, b.output(b.blocks(mine ^ width)), b.blocks(width));
  }
}

Cost cost_recursive_doubling(const Problem& problem) noexcept {
  const Terms t(problem);
  const double mean = t.rounds > 0 ? t.others * t.block / t.rounds : 0;
  return at_all_distances(
      problem, {.rounds = t.rounds, .bytes = t.others * t.block, .messages = t.rounds * pieces(problem, mean)});
}

}  // namespace

extern const Algorithm allgather_recursive_doubling{"recursive_doubling",    "tree",
                                                    Collective::allgather,   if_power_of_two,
                                                    cost_recursive_doubling, build_recursive_doubling};

}  // namespace godwit::collectives
