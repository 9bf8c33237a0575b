// Bruck's allgather backwards: the fewest rounds with the fewest bytes, for any number of ranks. Bruck et al. 1997;
// Traeff, arXiv:2410.14234 (2024).
// Association: see circulant_reduce_scatter.
// Cost: ceil(log2 n) rounds; n - 1 blocks sent and reduced; what is kept unreduced in the first round is copied
// (nothing if n is a power of two).
#include "collectives/algorithm.hpp"
#include "collectives/circulant.hpp"

namespace godwit::collectives {
namespace {

void build_circulant(ScheduleBuilder& b) {
  const Place partial = b.scratch(b.size() > 2 ? b.blocks(b.size()) : 0);
  circulant_reduce_scatter(b, everybody(b), b.input(), partial, b.output(), input_blocks(b));
  b.finish(b.output(), b.count());
}

Cost cost_circulant(const Problem& problem) noexcept {
  const Terms t(problem);
  const double kept = t.fold == 0 ? 0 : 2 * t.power - t.n;
  return at_all_distances(problem,
                          {.rounds = t.rounds,
                           .bytes = t.share * t.bytes,
                           .messages = t.rounds * pieces(problem, t.rounds > 0 ? t.share * t.bytes / t.rounds : 0),
                           .reduced = t.share * t.bytes,
                           .copied = kept * t.block});
}

}  // namespace

extern const Algorithm reduce_scatter_circulant{
    "circulant", "", Collective::reduce_scatter, if_commutative, cost_circulant, build_circulant, true};

}  // namespace godwit::collectives
