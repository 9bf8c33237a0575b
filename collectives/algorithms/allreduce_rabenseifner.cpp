// Recursive halving (reduce-scatter) and doubling (allgather), for any number of ranks. R. Rabenseifner: "Optimization
// of collective reduction operations", ICCS 2004.
// Association: pairs of neighbours first if n is no power of two, then see halving_reduce_scatter; one rank reduces
// each element, so all get the same bits.
// Cost (p, f as in reduce_scatter_gather): 2 log2 p + 2 f rounds; 2 (p - 1) / p + 2 f vectors sent, (p - 1) / p + f
// reduced.
#include "collectives/algorithm.hpp"
#include "collectives/halving.hpp"

namespace godwit::collectives {
namespace {

void build_rabenseifner(ScheduleBuilder& b) {
  const Fold fold(b);
  const int p = fold.participants();
  std::vector<std::uint64_t> bounds;
  for (int v = 0; v < p; ++v) bounds.push_back(part(b.count(), p, v).begin);
  bounds.push_back(b.count());
  const Place current = fold_in(b, fold, b.input(), b.output(), b.count());
  if (!fold.stays()) return b.recv_chunks(fold.partner(), b.output(), b.count());
  const Place reduced = halving_reduce_scatter(b, fold, current, b.output(), bounds);
  const std::uint64_t begin = bounds[fold.index()], length = bounds[fold.index() + 1] - begin;
  b.copy(reduced + begin, b.output(begin), length);  // a single rank has not reduced anything
  b.finish(b.output(begin), length);
  doubling_allgather(b, fold, b.output(), bounds);
  if (fold.paired()) b.send_chunks(fold.partner(), b.output(), b.count());
}

Cost cost_rabenseifner(const Problem& problem) noexcept {
  const Terms t(problem);
  const double half = t.bytes * (t.power - 1) / t.power;
  return at_all_distances(problem,
                          {.rounds = 2 * t.halvings + 2 * t.fold,
                           .bytes = 2 * half + 2 * t.fold * t.bytes,
                           .messages = 2 * t.halvings * pieces(problem, t.halvings > 0 ? half / t.halvings : 0) +
                                       2 * t.fold * pieces(problem, t.bytes),
                           .reduced = half + t.fold * t.bytes});
}

}  // namespace

extern const Algorithm allreduce_rabenseifner{
    "rabenseifner", "", Collective::allreduce, if_commutative, cost_rabenseifner, build_rabenseifner};

}  // namespace godwit::collectives
