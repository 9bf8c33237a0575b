// Large reduction as recursive halving and binomial gather, for any number of ranks. R. Rabenseifner: "Optimization of
// collective reduction operations", ICCS 2004.
// Association: pairs of neighbours first if n is no power of two, then see halving_reduce_scatter.
// Cost (p = largest power of two in n, f = 1 if p < n): 2 log2 p + f rounds; (2 (p - 1) / p + f) vectors received by
// the root, ((p - 1) / p + f) reduced.
#include "collectives/algorithm.hpp"
#include "collectives/halving.hpp"

namespace godwit::collectives {
namespace {

void build_scatter_gather(ScheduleBuilder& b) {
  const Rank root = b.problem().root;
  const Fold fold(b, root);
  const int p = fold.participants();
  std::vector<std::uint64_t> bounds;
  for (int v = 0; v < p; ++v) bounds.push_back(part(b.count(), p, v).begin);
  bounds.push_back(b.count());
  const Place accumulator = b.rank() == root ? b.output() : b.scratch(fold.stays() ? b.count() : 0);
  const Place current = fold_in(b, fold, b.input(), accumulator, b.count());
  if (!fold.stays()) return;
  const Place reduced = halving_reduce_scatter(b, fold, current, accumulator, bounds);
  const std::uint64_t begin = bounds[fold.index()], length = bounds[fold.index() + 1] - begin;
  b.copy(reduced + begin, accumulator + begin, length);  // a single rank has not reduced anything
  b.finish(accumulator + begin, length);
  doubling_gather(b, fold, accumulator, bounds);
}

Cost cost_scatter_gather(const Problem& problem) noexcept {
  const Terms t(problem);
  const double half = t.bytes * (t.power - 1) / t.power;
  return {.rounds = 2 * t.halvings + t.fold,
          .bytes = 2 * half + t.fold * t.bytes,
          .messages = t.halvings * pieces(problem, t.halvings > 0 ? half / t.halvings : 0) + t.share +
                      t.fold * pieces(problem, t.bytes),
          .reduced = half + t.fold * t.bytes};
}

}  // namespace

extern const Algorithm reduce_scatter_gather{
    "scatter_gather", "", Collective::reduce, if_commutative, cost_scatter_gather, build_scatter_gather};

}  // namespace godwit::collectives
