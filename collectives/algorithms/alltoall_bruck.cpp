// Bruck: blocks travel by the binary digits of their distance, many to a message. Bruck et al. 1997.
// Cost: ceil(log2 n) rounds; about n / 2 blocks sent in each, and copied twice; n blocks copied at either end.
#include "collectives/algorithm.hpp"

#include <algorithm>

namespace godwit::collectives {
namespace {

void build_bruck(ScheduleBuilder& b) {
  const int n = b.size();
  const int half = n / 2 + 1;
  const Place travelling = b.scratch(b.blocks(n));  // block i has the distance i still to go, or has gone it
  const Place packed = b.scratch(b.blocks(half)), arrived = b.scratch(b.blocks(half));
  b.copy(b.input(b.blocks(b.rank())), travelling, b.blocks(n - b.rank()));
  b.copy(b.input(), travelling + b.blocks(n - b.rank()), b.blocks(b.rank()));
  for (int distance = 1; distance < n; distance *= 2) {
    // Blocks whose number has this bit come in runs.
    const auto each_run = [&](const auto& visit) {
      int slot = 0;
      for (int first = distance; first < n; first += 2 * distance) {
        const int run = std::min(distance, n - first);
        visit(travelling + b.blocks(first), b.blocks(slot), b.blocks(run));
        slot += run;
      }
      return slot;
    };
    const int going =
        each_run([&](Place place, std::uint64_t slot, std::uint64_t count) { b.copy(place, packed + slot, count); });
    b.send((b.rank() + distance) % n, packed, b.blocks(going));
    b.recv((b.rank() + n - distance) % n, arrived, b.blocks(going));
    each_run([&](Place place, std::uint64_t slot, std::uint64_t count) { b.copy(arrived + slot, place, count); });
  }
  for (int i = 0; i < n; ++i) b.copy(travelling + b.blocks(i), b.output(b.blocks((b.rank() - i + n) % n)), b.count());
}

Cost cost_bruck(const Problem& problem) noexcept {
  const Terms t(problem);
  const double sent = t.rounds * t.bytes / 2;
  return at_all_distances(problem,
                          {.rounds = t.rounds, .bytes = sent, .messages = t.rounds, .copied = 2 * sent + 2 * t.bytes});
}

}  // namespace

extern const Algorithm alltoall_bruck{"bruck", "", Collective::alltoall, always, cost_bruck, build_bruck};

}  // namespace godwit::collectives
