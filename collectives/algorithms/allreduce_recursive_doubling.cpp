// Recursive doubling: in round k ranks at distance 2^k exchange and reduce whole vectors. Thakur, Rabenseifner, Gropp
// 2005. With 2 ranks both exchange whole vectors once: the shortest way there is. If n is no power of two, pairs of
// neighbours join before and part after.
// Association: in the order of ranks, adjacent groups of doubling size; the same bits on all ranks.
// Cost (p, f as in reduce_scatter_gather): log2 p + 2 f rounds, as many vectors; log2 p + f of them reduced.
#include "collectives/algorithm.hpp"
#include "collectives/halving.hpp"

namespace godwit::collectives {
namespace {

void build_recursive_doubling(ScheduleBuilder& b) { doubling_allreduce(b, Fold(b), b.input(), b.output(), b.count()); }

Cost cost_recursive_doubling(const Problem& problem) noexcept {
  const Terms t(problem);
  const double vectors = t.halvings + 2 * t.fold;
  return at_all_distances(problem, {.rounds = vectors,
                                    .bytes = vectors * t.bytes,
                                    .messages = vectors * pieces(problem, t.bytes),
                                    .reduced = (t.halvings + t.fold) * t.bytes});
}

}  // namespace

extern const Algorithm allreduce_recursive_doubling{
    "recursive_doubling", "tree", Collective::allreduce, always, cost_recursive_doubling, build_recursive_doubling};

}  // namespace godwit::collectives
