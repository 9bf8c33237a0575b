// Test data of the benchmarks and their check. Pure; one thread per object.
//
// The data of a rank repeats itself every `period` elements. The period is a prime, so no power of two and no
// block size of an algorithm is a multiple of it: data that ends up at the wrong place does not match. It also
// makes both filling and checking a matter of memcpy and memcmp.
//
// Inputs of reductions are chosen so that every partial result, in whatever order ranks are added, is a whole
// number (prod: a power of two) that the type represents exactly. Where ranks are too many for that, only every
// k-th rank contributes something other than the neutral element at a given index, another one at the next.
// The one result that may have to be rounded is avg in a floating type: it may differ from the true quotient by
// one unit in the last place, and inputs are so small that a missing contribution differs by more.
#pragma once

#include <godwit/types.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace godwit::apps {

class Pattern {
 public:
  static constexpr std::size_t period = 1021;

  /// Any values, for collectives that only move data. Different for each seed and rank.
  static Pattern moved(DataType type, std::uint64_t seed, int rank);
  /// What `rank` of `ranks` contributes to a reduction.
  static Pattern contribution(DataType type, ReduceOp op, std::uint64_t seed, int rank, int ranks);
  /// What the reduction of the contributions of the first `members` ranks gives, at least one.
  static Pattern reduced(DataType type, ReduceOp op, std::uint64_t seed, int ranks, int members);
  static Pattern reduced(DataType type, ReduceOp op, std::uint64_t seed, int ranks) {
    return reduced(type, op, seed, ranks, ranks);
  }

  static Pattern constant(DataType type, double value);

  /// Writes `count` elements, the first of which is element number `first` of the pattern.
  void fill(void* data, std::size_t count, std::size_t first = 0) const;
  /// How many of the `count` elements are not what fill() would have written, beyond the tolerance of avg.
  std::size_t count_wrong(const void* data, std::size_t count, std::size_t first = 0) const;

 private:
  explicit Pattern(DataType type) : type_(type), bytes_(period * size_of(type)) {}
  bool element_ok(const std::byte* got, const std::byte* expected) const;

  DataType type_;
  bool exact_ = true;
  std::vector<std::byte> bytes_;
};

/// Element `index` of data of this type as a double (exact for all values that patterns contain).
double element_as_double(DataType type, const std::byte* element);
void store_element(DataType type, std::byte* element, double value);
/// Distance between 1 and the next larger value: 2^-10 for half. 0 for integers.
double epsilon_of(DataType type);

}  // namespace godwit::apps
