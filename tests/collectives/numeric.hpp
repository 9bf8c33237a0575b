// A collective with numbers: buffers of one rank, filled, and checked against a reference that knows no algorithm.
#pragma once

#include "collectives/problem.hpp"

#include <godwit/collective.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace godwit::collectives_test {

/// Small whole numbers, so that any association gives the same result in any type.
class RankData {
 public:
  /// `call` without buffers. They begin `offset` elements into memory and have guard bytes around them.
  RankData(const CollectiveCall& call, Rank rank, int size, bool in_place, std::size_t offset = 0);

  const CollectiveCall& call() const noexcept { return call_; }
  /// Nothing, or what is wrong in words: an element, a guard, an input that was changed.
  std::string check() const;

 private:
  double input(Rank rank, std::uint64_t index) const;
  double reduced(std::uint64_t index) const;
  double reduced(std::uint64_t index, int ranks) const;  // the first ones only
  double expected(std::uint64_t index) const;
  void put(std::byte* base, std::uint64_t index, double value) const;

  collectives::Problem problem_;
  CollectiveCall call_;
  Rank rank_;
  std::size_t element_;
  std::vector<std::byte> send_, recv_, before_;
  std::size_t send_at_ = 0, recv_at_ = 0;
  std::uint64_t sent_, received_;
};

}  // namespace godwit::collectives_test
