// Reduce-scatter and allgather on a circulant graph: the rounds and bytes of Rabenseifner's algorithm at any number of
// ranks, not only powers of two. J. L. Traeff: "Optimal, non-pipelined reduce-scatter and allreduce algorithms",
// arXiv:2410.14234 (2024).
// Association: see circulant_reduce_scatter; one rank reduces each element, so all get the same bits.
// Cost: 2 ceil(log2 n) rounds; 2 (n - 1) / n of the vector sent, (n - 1) / n reduced; what is kept unreduced in the
// first round is copied (nothing if n is a power of two).
#include "collectives/algorithm.hpp"
#include "collectives/circulant.hpp"

namespace godwit::collectives {
namespace {

void build_circulant(ScheduleBuilder& b) {
  const Blocks blocks = equal_parts(b);
  const Team all = everybody(b);
  const Range mine = blocks(b.rank());
  circulant_reduce_scatter(b, all, b.input(), b.output(), b.output(mine.begin), blocks);
  b.finish(b.output(mine.begin), mine.size());
  circulant_allgather(b, all, b.output(), blocks);
}

Cost cost_circulant(const Problem& problem) noexcept {
  const Terms t(problem);
  const double half = t.share * t.bytes;
  const double kept = t.fold == 0 ? 0 : 2 * t.power - t.n;
  return at_all_distances(problem, {.rounds = 2 * t.rounds,
                                    .bytes = 2 * half,
                                    .messages = 2 * t.rounds * pieces(problem, t.rounds > 0 ? half / t.rounds : 0),
                                    .reduced = half,
                                    .copied = kept * t.block});
}

}  // namespace

extern const Algorithm allreduce_circulant{"circulant",     "",  Collective::allreduce, if_commutative, cost_circulant,
                                           build_circulant, true};

}  // namespace godwit::collectives
