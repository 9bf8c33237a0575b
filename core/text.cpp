// Sizes and near words. Pure functions, any thread.
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

namespace godwit::core {

namespace {

constexpr std::string_view unit_letters = "KMGT";

char lower(char c) noexcept { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }
bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

// "K", "kb", "MiB", "B" or nothing -> power of two; -1 if it is none of these.
int shift_of_unit(std::string_view unit) noexcept {
  if (unit.empty()) return 0;
  int shift = 0;
  for (std::size_t i = 0; i < unit_letters.size(); ++i)
    if (lower(unit[0]) == lower(unit_letters[i])) shift = 10 * (static_cast<int>(i) + 1);
  if (shift) {
    unit.remove_prefix(1);
    if (unit.size() == 2 && lower(unit[0]) == 'i') unit.remove_prefix(1);
  }
  const bool rest_is_b = unit.size() == 1 && lower(unit[0]) == 'b';
  return unit.empty() || rest_is_b ? shift : -1;
}

// Edit distance in which swapping two neighbours counts as one edit: "rign" is one away from "ring".
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::optional<std::size_t> parse_size(std::string_view text) noexcept {
  const char* end = text.data() + text.size();
  std::uint64_t whole = 0;
  auto [after, error] = std::from_chars(text.data(), end, whole);
  if (error != std::errc{}) return std::nullopt;

  double fraction = 0;
  const bool has_fraction = after != end && *after == '.';
  if (has_fraction) {
    if (after + 1 == end || !is_digit(after[1])) return std::nullopt;
    auto result = std::from_chars(after, end, fraction, std::chars_format::fixed);
    if (result.ec != std::errc{}) return std::nullopt;
    after = result.ptr;
  }
  const int shift = shift_of_unit({after, static_cast<std::size_t>(end - after)});
  if (shift < 0 || (shift == 0 && has_fraction)) return std::nullopt;

  constexpr std::uint64_t limit = std::uint64_t{1} << 63;
  if (whole > (limit >> shift)) return std::nullopt;
  const std::uint64_t unit = std::uint64_t{1} << shift;
  const std::uint64_t bytes = whole * unit + static_cast<std::uint64_t>(fraction * static_cast<double>(unit));
  return bytes > limit ? std::nullopt : std::optional<std::size_t>(bytes);
}

std::string format_size(std::size_t bytes) {
  std::string shortest = fmt::format("{}", bytes);
  for (std::size_t i = 0; i < unit_letters.size(); ++i) {
    const std::size_t unit = std::size_t{1} << (10 * (i + 1));
    const std::size_t thousandths = bytes % unit * 1000;
    if (bytes < unit || thousandths % unit != 0) continue;  // only what three decimals say exactly
    std::string decimals = fmt::format("{:03}", thousandths / unit);
    decimals.erase(decimals.find_last_not_of('0') + 1);
    std::string text = fmt::format("{}{}{}{}", bytes / unit, decimals.empty() ? "" : ".", decimals, unit_letters[i]);
    if (text.size() <= shortest.size()) shortest = std::move(text);
  }
  return shortest;
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& words) {
  std::size_t limit = std::max<std::size_t>(1, word.size() / 3);
  std::optional<std::string> best;
  for (const std::string& candidate : words) {
    const std::size_t edits = distance(word, candidate);
    if (edits > limit || (best && edits == limit)) continue;
    limit = edits;
    best = candidate;
  }
  return best;
}

std::uint64_t hash64(std::string_view bytes) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

}  // namespace godwit::core
