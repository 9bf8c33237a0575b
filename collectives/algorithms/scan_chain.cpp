// Pipelined chain: every rank puts what comes from the rank below before its own, piece by piece, and passes it on.
// Association: ((x[0] op x[1]) op x[2]) ..., in the order of ranks.
// Cost: n - 1 rounds until the last rank has the first piece; the vector and n - 2 pieces go one after the other, one
// vector is reduced.
#include "collectives/algorithm.hpp"

namespace godwit::collectives {
namespace {

void build_chain(ScheduleBuilder& b) {
  const bool first = b.rank() == 0, last = b.rank() + 1 == b.size();
  for_each_chunk(b.problem(), b.count(), [&](std::uint64_t offset, std::uint64_t count) {
    if (!first) b.recv_reduce(b.rank() - 1, b.input(offset), b.output(offset), count, Order::mine_last);
    if (!last) b.send(b.rank() + 1, first ? b.input(offset) : b.output(offset), count);
  });
  if (first) b.copy(b.input(), b.output(), b.count());
}

}  // namespace

extern const Algorithm scan_chain{"chain", "ring", Collective::scan, always, cost_of_reducing_chain, build_chain, true};

}  // namespace godwit::collectives
