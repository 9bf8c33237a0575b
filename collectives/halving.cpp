#include "collectives/halving.hpp"

namespace godwit::collectives {

Fold::Fold(const ScheduleBuilder& b, Rank root)
    : root_(root), participants_(power_of_two_below(b.size())), extra_(b.size() - participants_) {
  if (b.rank() >= 2 * extra_) {
    index_ = b.rank() - extra_;
    return;
  }
  partner_ = b.rank() ^ 1;
  if (rank_of(b.rank() / 2) == b.rank()) index_ = b.rank() / 2;
}

Rank Fold::rank_of(int index) const noexcept {
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
  const Order order = b.rank() < fold.partner() ? Order::mine_first : Order::mine_last;
  b.recv_reduce(fold.partner(), source, accumulator, count, order);
  return accumulator;
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
