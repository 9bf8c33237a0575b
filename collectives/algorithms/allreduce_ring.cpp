// Ring: reduce-scatter and allgather around the ring, pipelined in chunks. P. Patarasuk, X. Yuan: "Bandwidth optimal
// all-reduce algorithms for clusters of workstations", JPDC 69 (2009).
// Association: see ring_reduce_scatter; one rank reduces each element, so all get the same bits.
// Cost: 2 (n - 1) rounds; 2 (n - 1) / n of the vector sent, (n - 1) / n reduced.
#include "collectives/algorithm.hpp"
#include "collectives/phases.hpp"

namespace godwit::collectives {
namespace {

void build_ring(ScheduleBuilder& b) {
  const Blocks blocks = equal_parts(b);
  const Range mine = blocks(b.rank());
  ring_reduce_scatter(b, b.input(), b.output(mine.begin), blocks);
  b.finish(b.output(mine.begin), mine.size());
  ring_allgather(b, b.output(), blocks);
}

Cost cost_ring(const Problem& problem) noexcept {
  const Terms t(problem);
  return {.rounds = 2 * t.others,
          .bytes = 2 * t.share * t.bytes,
          .messages = 2 * t.others * pieces(problem, t.block),
          .reduced = t.share * t.bytes};
}

}  // namespace

extern const Algorithm allreduce_ring{"ring", "ring", Collective::allreduce, if_commutative, cost_ring, build_ring};

}  // namespace godwit::collectives
