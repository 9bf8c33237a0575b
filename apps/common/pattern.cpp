#include "common/pattern.hpp"

#include "common/names.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace godwit::apps {

namespace {

/// SplitMix64: a well mixed function of its argument.
std::uint64_t mix(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

std::uint64_t random_at(std::uint64_t seed, int rank, std::size_t index) noexcept {
  return mix(mix(seed) ^ mix(static_cast<std::uint64_t>(rank) << 32 | index));
}

/// Largest n such that all whole numbers 0..n are exact, cut at 2^24: larger ones would test nothing more.
std::int64_t whole_limit(DataType type) noexcept {
  switch (type) {
    case DataType::int8: return 127;
    case DataType::uint8: return 255;
    case DataType::int16: return 32767;
    case DataType::uint16: return 65535;
    case DataType::float16: return 2048;
    case DataType::bfloat16: return 256;
    default: return std::int64_t{1} << 24;
  }
}

/// How many doublings fit: 2^n is exact, and for floating types so is 2^-n.
std::int64_t doubling_limit(DataType type) noexcept {
  switch (type) {
    case DataType::int8: return 6;
    case DataType::uint8: return 7;
    case DataType::int16:
    case DataType::float16: return 14;
    case DataType::uint16: return 15;
    case DataType::int32: return 30;
    case DataType::uint32: return 31;
    case DataType::int64: return 62;
    case DataType::uint64: return 63;
    case DataType::bfloat16:
    case DataType::float32: return 120;
    case DataType::float64: return 1000;
  }
  return 0;
}

/// Of ranks that may add at most `limit` things between them: does this one add something at this index?
bool contributes(std::int64_t limit, int rank, int ranks, std::size_t index) noexcept {
  const auto every = static_cast<std::size_t>((ranks + limit - 1) / limit);
  return (static_cast<std::size_t>(rank) + index) % every == 0;
}

double summand(DataType type, ReduceOp op, std::uint64_t random, int rank, int ranks, std::size_t index) {
  std::int64_t limit = whole_limit(type);
  if (op == ReduceOp::avg && is_floating(type)) limit /= 4;  // one missing unit is more than the rounding of avg
  if (!contributes(limit, rank, ranks, index)) return 0;
  const std::int64_t bound = std::clamp<std::int64_t>(limit / ranks, 1, 1000);
  const auto magnitude = static_cast<double>(1 + random % static_cast<std::uint64_t>(bound));
  return is_signed(type) && (random >> 63) != 0 ? -magnitude : magnitude;
}

double factor(DataType type, std::uint64_t random, int rank, int ranks, std::size_t index) {
  double value = 1;
  if (contributes(doubling_limit(type), rank, ranks, index)) value = is_floating(type) && (random & 1U) != 0 ? 0.5 : 2;
  return is_signed(type) && (random >> 63) != 0 ? -value : value;
}

double candidate(DataType type, std::uint64_t random) {
  const auto limit = static_cast<std::uint64_t>(whole_limit(type));
  const auto magnitude = static_cast<double>(1 + random % limit);  // not 0: -0 and 0 are one value, two patterns
  return is_signed(type) && (random >> 63) != 0 ? -magnitude : magnitude;
}

double input(DataType type, ReduceOp op, std::uint64_t seed, int rank, int ranks, std::size_t index) {
  const std::uint64_t random = random_at(seed, rank, index);
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::avg: return summand(type, op, random, rank, ranks, index);
    case ReduceOp::prod: return factor(type, random, rank, ranks, index);
    case ReduceOp::min:
    case ReduceOp::max: return candidate(type, random);
  }
  return 0;
}

double combine(ReduceOp op, double a, double b) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::avg: return a + b;
    case ReduceOp::prod: return a * b;
    case ReduceOp::min: return std::min(a, b);
    case ReduceOp::max: return std::max(a, b);
  }
  return a;
}

}  // namespace

Pattern Pattern::moved(DataType type, std::uint64_t seed, int rank) {
  Pattern pattern(type);
  const std::size_t width = size_of(type);
  for (std::size_t i = 0; i < period; ++i) {
    const std::uint64_t random = random_at(seed ^ 0x6d6f766564U, rank, i);
    std::memcpy(pattern.bytes_.data() + i * width, &random, width);
  }
  return pattern;
}

Pattern Pattern::contribution(DataType type, ReduceOp op, std::uint64_t seed, int rank, int ranks) {
  Pattern pattern(type);
  for (std::size_t i = 0; i < period; ++i)
    store_element(type, pattern.bytes_.data() + i * size_of(type), input(type, op, seed, rank, ranks, i));
  return pattern;
}

Pattern Pattern::reduced(DataType type, ReduceOp op, std::uint64_t seed, int ranks, int members) {
  Pattern pattern(type);
  pattern.exact_ = op != ReduceOp::avg || !is_floating(type);
  for (std::size_t i = 0; i < period; ++i) {
    double value = input(type, op, seed, 0, ranks, i);
    for (int rank = 1; rank < members; ++rank) value = combine(op, value, input(type, op, seed, rank, ranks, i));
    if (op == ReduceOp::avg) value = is_floating(type) ? value / ranks : std::trunc(value / ranks);
    store_element(type, pattern.bytes_.data() + i * size_of(type), value);
  }
  return pattern;
}

Pattern Pattern::constant(DataType type, double value) {
  Pattern pattern(type);
  for (std::size_t i = 0; i < period; ++i) store_element(type, pattern.bytes_.data() + i * size_of(type), value);
  return pattern;
}

void Pattern::fill(void* data, std::size_t count, std::size_t first) const {
  const std::size_t width = size_of(type_);
  auto* out = static_cast<std::byte*>(data);
  for (std::size_t at = first % period; count > 0; at = 0) {
    const std::size_t piece = std::min(count, period - at);
    std::memcpy(out, bytes_.data() + at * width, piece * width);
    out += piece * width;
    count -= piece;
  }
}

std::size_t Pattern::count_wrong(const void* data, std::size_t count, std::size_t first) const {
  const std::size_t width = size_of(type_);
  const auto* got = static_cast<const std::byte*>(data);
  std::size_t wrong = 0;
  for (std::size_t at = first % period; count > 0; at = 0) {
    const std::size_t piece = std::min(count, period - at);
    const std::byte* expected = bytes_.data() + at * width;
    if (std::memcmp(got, expected, piece * width) != 0)
      for (std::size_t i = 0; i < piece; ++i)
        if (!element_ok(got + i * width, expected + i * width)) ++wrong;
    got += piece * width;
    count -= piece;
  }
  return wrong;
}

bool Pattern::element_ok(const std::byte* got, const std::byte* expected) const {
  if (std::memcmp(got, expected, size_of(type_)) == 0) return true;
  if (exact_) return false;
  const double want = element_as_double(type_, expected);
  // Not "difference > bound": that would let NaN pass.
  return std::abs(element_as_double(type_, got) - want) <= epsilon_of(type_) * std::abs(want);
}

}  // namespace godwit::apps
