#include "collectives/halving.hpp"

#include <utility>

namespace godwit::collectives {

Fold::Fold(Team team, int root)
    : team_(std::move(team)),
      root_(root),
      participants_(power_of_two_below(team_.size())),
      extra_(team_.size() - participants_) {
  const int me = team_.me;
  if (me >= 2 * extra_) {
    index_ = me - extra_;
    return;
  }
  partner_ = me ^ 1;
  if (member_of(me / 2) == me) index_ = me / 2;
}

int Fold::member_of(int index) const noexcept {
  if (index >= extra_) return index + extra_;
  return root_ == 2 * index ? 2 * index : 2 * index + 1;
}

int Fold::index_of_root() const noexcept { return root_ < 2 * extra_ ? root_ / 2 : root_ - extra_; }

Place fold_in(ScheduleBuilder& b, const Fold& fold, Place source, Place accumulator, std::uint64_t count) {
  if (!fold.paired()) return source;
  if (!fold.stays()) {
    b.send_chunks(fold.partner(), source, count);
    return source;
  }
  const Order order = fold.before_partner() ? Order::mine_first : Order::mine_last;
  b.recv_reduce(fold.partner(), source, accumulator, count, order);
  return accumulator;
}

void doubling_allreduce(ScheduleBuilder& b, const Fold& fold, Place source, Place target, std::uint64_t count) {
  Place current = fold_in(b, fold, source, target, count);
  if (!fold.stays()) return b.recv_chunks(fold.partner(), target, count);
  for (int distance = 1; distance < fold.participants(); distance *= 2) {
    const int other = fold.index() ^ distance;
    b.send_chunks(fold.rank_of(other), current, count);
    b.recv_reduce(fold.rank_of(other), current, target, count,
                  fold.index() < other ? Order::mine_first : Order::mine_last);
    current = target;
  }
  b.copy(current, target, count);  // a single rank has not reduced anything
  b.finish(target, count);
  if (fold.paired()) b.send_chunks(fold.partner(), target, count);
}

Place halving_reduce_scatter(ScheduleBuilder& b, const Fold& fold, Place current, Place accumulator,
                             const std::vector<std::uint64_t>& bounds) {
  int first = 0;  // of the participants whose ranges are still mine
  for (int half = fold.participants() / 2; half >= 1; half /= 2) {
    const int middle = first + half;
    const bool upper = fold.index() >= middle;
    const Range low{bounds[first], bounds[middle]}, high{bounds[middle], bounds[middle + half]};
    const Range keep = upper ? high : low, give = upper ? low : high;
    const Rank peer = fold.rank_of(fold.index() ^ half);
    b.send_chunks(peer, current + give.begin, give.size());
    b.recv_reduce(peer, current + keep.begin, accumulator + keep.begin, keep.size(),
                  upper ? Order::mine_last : Order::mine_first);
    current = accumulator;
    if (upper) first = middle;
  }
  return current;
}

void doubling_allgather(ScheduleBuilder& b, const Fold& fold, Place base, const std::vector<std::uint64_t>& bounds) {
  for (int width = 1; width < fold.participants(); width *= 2) {
    const int mine = fold.index() & ~(width - 1), theirs = mine ^ width;
    const Rank peer = fold.rank_of(fold.index() ^ width);
    b.send_chunks(peer, base + bounds[mine], bounds[mine + width] - bounds[mine]);
    b.recv_chunks(peer, base + bounds[theirs], bounds[theirs + width] - bounds[theirs]);
  }
}

void doubling_gather(ScheduleBuilder& b, const Fold& fold, Place base, const std::vector<std::uint64_t>& bounds) {
  const int distance = fold.index() ^ fold.index_of_root();
  for (int width = 1; width < fold.participants(); width *= 2) {
    const int mine = fold.index() & ~(width - 1), theirs = mine ^ width;
    const Rank peer = fold.rank_of(fold.index() ^ width);
    if (distance & width) {
      b.send_chunks(peer, base + bounds[mine], bounds[mine + width] - bounds[mine]);
      return;
    }
    b.recv_chunks(peer, base + bounds[theirs], bounds[theirs + width] - bounds[theirs]);
  }
}

}  // namespace godwit::collectives
