// The sizes of a sweep: -b, -e, -i, -f, --sizes of the benchmarks. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace godwit::apps {

/// What a program calls the flags of a sweep, for its errors.
struct SizeFlags {
  std::string_view first = "-b", last = "-e", step = "-i", factor = "-f";
};

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
  void check(const SizeFlags& flags = {}) const;
};

/// What was written after the flags of a sweep; empty: nothing was.
struct SizeWords {
  std::string first = {}, last = {}, step = {}, factor = {};
  bool any() const noexcept { return !first.empty() || !last.empty() || !step.empty() || !factor.empty(); }
};
/// Puts them in the place of what the range has; a step, in the place of the factor, too. Throws UsageError.
void take_words(SizeRange& range, const SizeWords& words, const SizeFlags& flags = {});

/// A range, or an explicit list in its own order.
struct SizeSweep {
  SizeRange range;
  std::vector<std::size_t> list = {};

  std::size_t smallest() const noexcept;
  std::size_t largest() const noexcept;
  /// What the user asked to go up to: -e, or the largest of the list.
  std::size_t last() const noexcept;
  /// Leaves out sizes above `limit`, which is at least smallest().
  void cut(std::size_t limit);
  void for_each(const std::function<void(std::size_t)>& visit) const;
};

/// A size with the grammar of core::parse_size. Throws UsageError naming the flag and what is accepted.
std::size_t parse_size_flag(std::string_view flag, std::string_view text);
/// Sizes separated by commas: "0,8,4K".
std::vector<std::size_t> parse_size_list(std::string_view flag, std::string_view text);

}  // namespace godwit::apps
