// Ring: partial results go once around, pipelined in chunks. Patarasuk, Yuan 2009. Only neighbours talk.
// Association: see ring_reduce_scatter.
// Cost: n - 1 rounds; n - 1 blocks sent and reduced.
#include "collectives/algorithm.hpp"
#include "collectives/phases.hpp"

namespace godwit::collectives {
namespace {

void build_ring(ScheduleBuilder& b) {
  ring_reduce_scatter(b, b.input(), b.output(), input_blocks(b));
  b.finish(b.output(), b.count());
}

Cost cost_ring(const Problem& problem) noexcept {
  const Terms t(problem);
  return {.rounds = t.others,
          .bytes = t.share * t.bytes,
          .messages = t.others * pieces(problem, t.block),
          .reduced = t.share * t.bytes};
}

}  // namespace

extern const Algorithm reduce_scatter_ring{"ring",         "ring",    Collective::reduce_scatter,
                                           if_commutative, cost_ring, build_ring};
extern const Algorithm reduce_scatterv_ring{"ring",         "ring",    Collective::reduce_scatterv,
                                            if_commutative, cost_ring, build_ring};

}  // namespace godwit::collectives
