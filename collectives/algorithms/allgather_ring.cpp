// Ring: every rank passes on what its left neighbour sent, pipelined in chunks. Thakur, Rabenseifner, Gropp 2005.
// Cost: n - 1 rounds; n - 1 blocks sent.
#include "collectives/algorithm.hpp"
#include "collectives/phases.hpp"

namespace godwit::collectives {
namespace {

void build_ring(ScheduleBuilder& b) {
  b.copy(b.input(), b.output(b.problem().output_block(b.rank()).begin), b.count());
  ring_allgather(b, b.output(), output_blocks(b));
}

Cost cost_ring(const Problem& problem) noexcept {
  const Terms t(problem);
  return {.rounds = t.others, .bytes = t.others * t.block, .messages = t.others * pieces(problem, t.block)};
}

}  // namespace

extern const Algorithm allgather_ring{"ring", "ring", Collective::allgather, always, cost_ring, build_ring};
extern const Algorithm allgatherv_ring{"ring", "ring", Collective::allgatherv, always, cost_ring, build_ring};

}  // namespace godwit::collectives
