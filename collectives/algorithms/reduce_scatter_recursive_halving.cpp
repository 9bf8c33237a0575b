// Recursive halving for any number of ranks: the fewest rounds. Thakur, Rabenseifner, Gropp 2005.
// Association: pairs of neighbours first if n is no power of two, then see halving_reduce_scatter.
// Cost (p, f as in reduce_scatter_gather): log2 p + 2 f rounds; (n - 1) blocks sent and reduced, with f the whole
// vector (and a block) more.
#include "collectives/algorithm.hpp"
#include "collectives/halving.hpp"

namespace godwit::collectives {
namespace {

void build_recursive_halving(ScheduleBuilder& b) {
  const Fold fold(b);
  std::vector<std::uint64_t> bounds;
  for (int v = 0; v <= fold.participants(); ++v) bounds.push_back(b.blocks(fold.first_rank(v)));
  const Place accumulator = b.scratch(fold.stays() ? b.blocks(b.size()) : 0);
  const Place current = fold_in(b, fold, b.input(), accumulator, b.blocks(b.size()));
  if (!fold.stays()) return b.recv_chunks(fold.partner(), b.output(), b.count());
  const Place reduced = halving_reduce_scatter(b, fold, current, accumulator, bounds);
  b.copy(reduced + b.blocks(b.rank()), b.output(), b.count());
  b.finish(b.output(), b.count());
  if (!fold.paired()) return;
  const Place theirs = reduced + b.blocks(fold.partner());
  b.finish(theirs, b.count());
  b.send_chunks(fold.partner(), theirs, b.count());
}

Cost cost_recursive_halving(const Problem& problem) noexcept {
  const Terms t(problem);
  const double mean = t.halvings > 0 ? t.share * t.bytes / t.halvings : 0;
  return at_all_distances(problem,
                          {.rounds = t.halvings + 2 * t.fold,
                           .bytes = t.share * t.bytes + t.fold * (t.bytes + t.block),
                           .messages = t.halvings * pieces(problem, mean) + t.fold * pieces(problem, t.bytes + t.block),
                           .reduced = t.share * t.bytes + t.fold * t.bytes,
                           .copied = t.block});
}

}  // namespace

extern const Algorithm reduce_scatter_recursive_halving{"recursive_halving",        "tree",
                                                        Collective::reduce_scatter, if_commutative,
                                                        cost_recursive_halving,     build_recursive_halving};

}  // namespace godwit::collectives
