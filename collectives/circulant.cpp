#include "collectives/circulant.hpp"

#include <algorithm>

namespace godwit::collectives {

namespace {

/// Calls visit(begin, count) for the elements of `count` blocks from block `first` on, modulo the team: one run, and a
/// second one if it wraps around.
template <class F>
void runs(const Blocks& blocks, int size, int first, int count, F&& visit) {
  first %= size;
  const int straight = std::min(count, size - first);
  const auto run = [&](int from, int length) {
    if (length == 0) return;
    const std::uint64_t begin = blocks(from).begin;
    visit(begin, blocks(from + length - 1).end - begin);
  };
  run(first, straight);
  run(0, count - straight);
}

}  // namespace

void circulant_reduce_scatter(ScheduleBuilder& b, const Team& team, Place source, Place accumulator, Place target,
                              const Blocks& blocks) {
  const int n = team.size(), me = team.me;
  Place current = source;
  int have = n;  // blocks from mine on whose sums I still carry
  while (have > 1) {
    const int keep = power_of_two_below(have - 1), give = have - keep;
    const Rank to = team[(me + keep) % n], from = team[(me + n - keep) % n];
    runs(blocks, n, me + keep, give, [&](auto begin, auto count) { b.send_chunks(to, current + begin, count); });
    const Place next = keep == 1 ? target : accumulator;
    runs(blocks, n, me, give, [&](auto begin, auto count) {
      b.recv_reduce(from, current + begin, keep == 1 ? next : next + begin, count, Order::mine_first);
    });
    if (keep > give)  // only in the first round
      runs(blocks, n, me + give, keep - give,
           [&](auto begin, auto count) { b.copy(current + begin, accumulator + begin, count); });
    current = accumulator;
    have = keep;
  }
  if (n == 1) b.copy(source + blocks(0).begin, target, blocks(0).size());
}

void circulant_allgather(ScheduleBuilder& b, const Team& team, Place base, const Blocks& blocks) {
  const int n = team.size(), me = team.me;
  for (int have = 1; have < n; have *= 2) {
    const int more = std::min(have, n - have);
    const Rank to = team[(me + n - have) % n], from = team[(me + have) % n];
    runs(blocks, n, me, more, [&](auto begin, auto count) { b.send_chunks(to, base + begin, count); });
    runs(blocks, n, me + have, more, [&](auto begin, auto count) { b.recv_chunks(from, base + begin, count); });
  }
}

}  // namespace godwit::collectives
