// Small text helpers: sizes, nearest word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace godwit::core {

/// "8" "4K" "64M" "8G" "1T" (powers of 1024, with or without B or iB, any case); nothing when malformed,
/// negative or above 2^63.
std::optional<std::size_t> parse_size(std::string_view text) noexcept;
/// "8", "4K", "64M", "1.5M": shortest that parse_size reads back.
std::string format_size(std::size_t bytes);
/// The word nearest to `word` (edit distance at most a third of its length, at least 1), if any.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& words);
/// FNV-1a, stable across processes.
std::uint64_t hash64(std::string_view bytes) noexcept;

}  // namespace godwit::core
