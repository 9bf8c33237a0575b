// Recursive doubling: in round k ranks at distance 2^k exchange and reduce whole vectors. Thakur, Rabenseifner, Gropp
// 2005. With 2 ranks both exchange whole vectors once: the shortest way there is. If n is no power of two, pairs of
// neighbours join before and part after.
// Association: in the order of ranks, adjacent groups of doubling size; the same bits on all ranks.
// Cost (p, f as in reduce_scatter_gather): log2 p + 2 f rounds, as many vectors; log2 p + f of them reduced.
#include "collectives/algorithm.hpp"
#include "collectives/halving.hpp"

namespace godwit::collectives {
namespace {

void build_recursive_doubling(ScheduleBuilder& b) {
  const Fold fold(b);
  Place current = fold_in(b, fold, b.input(), b.output(), b.count());
  if (!fold.stays()) return b.recv_chunks(fold.partner(), b.output(), b.count());
  for (int distance = 1; distance < fold.participants(); distance *= 2) {
    const int other = fold.index() ^ distance;
    b.send_chunks(fold.rank_of(other), current, b.count());
    b.recv_reduce(fold.rank_of(other), current, b.output(), b.count(),
                  fold.index() < other ? Order::mine_first : Order::mine_last);
    current = b.output();
  }
  b.copy(current, b.output(), b.count());  // a single rank has not reduced anything
  b.finish(b.output(), b.count());
  if (fold.paired()) b.send_chunks(fold.partner(), b.output(), b.count());
}

Cost cost_recursive_doubling(const Problem& problem) noexcept {
  const Terms t(problem);
  const double vectors = t.halvings + 2 * t.fold;
  return {.rounds = vectors,
          .bytes = vectors * t.bytes,
          .messages = vectors * pieces(problem, t.bytes),
          .reduced = (t.halvings + t.fold) * t.bytes};
}

}  // namespace

extern const Algorithm allreduce_recursive_doubling{
    "recursive_doubling", "tree", Collective::allreduce, always, cost_recursive_doubling, build_recursive_doubling};

}  // namespace godwit::collectives
