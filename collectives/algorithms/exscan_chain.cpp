// Pipelined chain: every rank keeps what comes from the rank below, and passes it on, piece by piece, with its own
// behind it.
// Association: ((x[0] op x[1]) op x[2]) ..., in the order of ranks.
// Cost: as scan_chain; the last rank reduces nothing.
#include "collectives/algorithm.hpp"

#include <algorithm>

namespace godwit::collectives {
namespace {

constexpr std::uint64_t turns = 4;  // pieces that wait for their onward journey

void build_chain(ScheduleBuilder& b) {
  const bool first = b.rank() == 0, last = b.rank() + 1 == b.size();
  const std::uint64_t piece = std::min(b.problem().chunk(), b.count());
  const Place aside = b.scratch(2 * turns * piece);
  std::uint64_t turn = 0;
  for_each_chunk(b.problem(), b.count(), [&](std::uint64_t offset, std::uint64_t count) {
    const Place below = aside + 2 * (turn++ % turns) * piece, both = below + piece;
    if (first && !last) b.send(b.rank() + 1, b.input(offset), count);
    if (first) return;
    b.recv(b.rank() - 1, below, count);
    if (!last) {
      b.reduce(below, b.input(offset), both, count);
      b.send(b.rank() + 1, both, count);
    }
    b.copy(below, b.output(offset), count);  // last: in place it overwrites the input
  });
}

Cost cost_chain(const Problem& problem) noexcept {
  Cost cost = cost_of_chain(problem);
  const double bytes = Terms(problem).bytes;
  if (problem.size > 1) cost.copied = bytes;
  if (problem.size > 2) cost.reduced = bytes;
  return cost;
}

}  // namespace

extern const Algorithm exscan_chain{"chain", "ring", Collective::exscan, always, cost_chain, build_chain, true};

}  // namespace godwit::collectives
