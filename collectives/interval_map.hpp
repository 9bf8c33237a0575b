// IntervalMap: a value for each position of [0, 2^64 - 1), equal over long stretches. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

namespace godwit::collectives {

/// T's meaning may not depend on where its interval begins: intervals are split by copying T.
template <class T>
class IntervalMap {
 public:
  explicit IntervalMap(T everywhere = {}) { values_.emplace(0, std::move(everywhere)); }

  void assign(std::uint64_t begin, std::uint64_t end, T value) {
    if (begin >= end) return;
    const auto last = split(end), first = split(begin);
    first->second = std::move(value);
    values_.erase(std::next(first), last);
  }

  /// Calls visit(begin, end, T&) for the pieces of [begin, end) in order; visit may change the value.
  template <class F>
  void for_each(std::uint64_t begin, std::uint64_t end, F&& visit) {
    if (begin >= end) return;
    const auto last = split(end);
    for (auto piece = split(begin); piece != last; ++piece) visit(piece->first, end_of(piece), piece->second);
  }

  /// As for_each, without changing anything; pieces are cut to [begin, end).
  template <class F>
  void look(std::uint64_t begin, std::uint64_t end, F&& visit) const {
    if (begin >= end) return;
    for (auto piece = std::prev(values_.upper_bound(begin)); piece != values_.end() && piece->first < end; ++piece)
      visit(std::max(begin, piece->first), std::min(end, end_of(piece)), piece->second);
  }

 private:
  using Map = std::map<std::uint64_t, T>;  // begin -> value up to the next begin

  template <class Iterator>
  std::uint64_t end_of(Iterator piece) const {
    auto next = std::next(piece);
    return next == values_.end() ? std::numeric_limits<std::uint64_t>::max() : next->first;
  }

  /// The piece that begins at `position`.
  typename Map::iterator split(std::uint64_t position) {
    auto next = values_.lower_bound(position);
    if (next != values_.end() && next->first == position) return next;
    return values_.emplace_hint(next, position, std::prev(next)->second);
  }

  Map values_;
};

}  // namespace godwit::collectives
