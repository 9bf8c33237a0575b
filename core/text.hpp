// Small text helpers: sizes, nearest word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace godwit::core {

/// "8" "4K" "1.5M" "8G" "1T" (powers of 1024, with or without B or iB, any case; a fraction of a byte is cut
/// off); nothing when malformed, negative or above 2^63.
std::optional<std::size_t> parse_size(std::string_view text) noexcept;
/// "8", "4K", "64M", "1.5M": the shortest text that is exact, so that parse_size reads it back.
std::string format_size(std::size_t bytes);
/// The word nearest to `word`, whatever the case, if any is near: at most as many edits as a third of its length,
/// one edit at least. Swapping neighbours is one edit.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& words);
/// FNV-1a, stable across processes.
std::uint64_t hash64(std::string_view bytes) noexcept;

}  // namespace godwit::core
