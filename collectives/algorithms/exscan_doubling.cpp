// 1-2-3-doubling: own data goes one rank up, own data with what came goes two ranks up, and from then on, at distances
// 3, 6, 12, ..., what all ranks below have so far. Nearly log2 n reductions on each rank, where a scan with a shift
// before it takes one round more. Traeff 2025 (arXiv 2507.04785).
// Association: adjacent groups of ranks in their order: one, two, three, six, ... of them.
// Cost: ceil(log2(n - 1) + log2(4 / 3)) rounds, as many vectors sent; one less reduced, or as many on ranks that pass
// on both.
#include "collectives/algorithm.hpp"

#include <algorithm>

namespace godwit::collectives {
namespace {

void build_doubling(ScheduleBuilder& b) {
  const Rank rank = b.rank();
  const auto exists = [&](Rank other) { return other < b.size(); };
  if (exists(rank + 1)) b.send_chunks(rank + 1, b.input(), b.count());
  // Not in the output, which is the input in place.
  const Place below = rank > 0 ? b.scratch(b.count()) : b.input();
  if (rank > 0) b.recv_chunks(rank - 1, below, b.count());
  if (rank > 0 && exists(rank + 2)) {
    const Place both = b.scratch(b.count());
    for_each_chunk(b.problem(), b.count(), [&](std::uint64_t offset, std::uint64_t count) {
      b.reduce(below + offset, b.input(offset), both + offset, count);
    });
    b.send_chunks(rank + 2, both, b.count());
  } else if (exists(rank + 2)) {
    b.send_chunks(rank + 2, b.input(), b.count());
  }
  if (rank == 1) b.copy(below, b.output(), b.count());
  if (rank > 1) b.recv_reduce(rank - 2, below, b.output(), b.count(), Order::mine_last);
  // Rank 0 has nothing below it.
  for (int distance = 3; distance < b.size(); distance *= 2) {
    if (rank > 0 && exists(rank + distance)) b.send_chunks(rank + distance, b.output(), b.count());
    if (rank > distance) b.recv_reduce(rank - distance, b.output(), b.output(), b.count(), Order::mine_last);
  }
}

Cost cost_doubling(const Problem& problem) noexcept {
  const Terms t(problem);
  double rounds = 0, senders = 0;
  int last = 0;  // rank that receives in every round
  for (int distance = 1; distance < problem.size; distance = distance < 3 ? distance + 1 : 2 * distance) {
    const int lowest = distance < 3 ? distance : distance + 1;  // that receives
    if (lowest >= problem.size) break;
    last = lowest;
    rounds += 1;
    senders += t.n - lowest;
  }
  const bool passes_both = std::max(last, 2) + 2 < problem.size;
  return at_all_distances(problem, {.rounds = rounds,
                                    .bytes = rounds * t.bytes,
                                    .messages = senders / t.n * pieces(problem, t.bytes),
                                    .reduced = std::max(0.0, rounds - (passes_both ? 0 : 1)) * t.bytes});
}

}  // namespace

extern const Algorithm exscan_doubling{"doubling", "tree", Collective::exscan, always, cost_doubling, build_doubling};

}  // namespace godwit::collectives
