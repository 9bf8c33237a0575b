// The sizes of a sweep: -b, -e, -i, -f of the benchmarks. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace godwit::apps {

/// From `first` to `last` bytes, both included if they are hit: times `factor` if that is above 1, else plus `step`.
struct SizeRange {
  std::size_t first = 32U << 20;
  std::size_t last = 32U << 20;
  std::size_t step = 1U << 20;
  std::size_t factor = 1;

  /// The size after `size`, or nothing at the end. A product with 0 would stay 0: it goes on with `unit` bytes
  /// (one element) instead.
  std::optional<std::size_t> next(std::size_t size, std::size_t unit = 1) const noexcept;
  /// The last size that the sweep comes to, or more.
  std::size_t largest() const noexcept;
  /// Throws UsageError for first > last and for a sweep that cannot move.
  void check() const;
};

/// A size with the grammar of core::parse_size. Throws UsageError naming the flag and what is accepted.
std::size_t parse_size_flag(std::string_view flag, std::string_view text);

}  // namespace godwit::apps
