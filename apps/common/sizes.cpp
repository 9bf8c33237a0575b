#include "sizes.hpp"

#include "core/text.hpp"
#include "usage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace godwit::apps {

std::optional<std::size_t> SizeRange::next(std::size_t size, std::size_t unit) const noexcept {
  std::size_t following = 0;
  if (factor > 1) {
    if (size > SIZE_MAX / factor) return std::nullopt;
    following = size == 0 ? std::max<std::size_t>(unit, 1) : size * factor;
  } else {
    if (size > SIZE_MAX - step) return std::nullopt;
    following = size + step;
  }
  return following > size && following <= last ? std::optional(following) : std::nullopt;
}

std::size_t SizeRange::largest() const noexcept {
  if (factor <= 1) return step == 0 ? first : first + (last - first) / step * step;
  if (first == 0) return last;  // what follows 0 depends on the element
  std::size_t size = first;
  while (auto following = next(size)) size = *following;
  return size;
}

void SizeRange::check(const SizeFlags& flags) const {
  if (first > last)
    throw UsageError(fmt::format("the sizes begin at {} B ({}) and end before that, at {} B ({})", first, flags.first,
                                 last, flags.last));
  if (factor == 0)
    throw UsageError(
        fmt::format("{} 0: the factor between sizes must be at least 1 (1 means: use {})", flags.factor, flags.step));
  if (factor == 1 && step == 0 && first != last)
    throw UsageError(
        fmt::format("{} 0: sizes would never grow; give a step in bytes or a factor ({} 2)", flags.step, flags.factor));
}

std::size_t SizeSweep::smallest() const noexcept {
  return list.empty() ? range.first : *std::min_element(list.begin(), list.end());
}

std::size_t SizeSweep::largest() const noexcept { return list.empty() ? range.largest() : last(); }

std::size_t SizeSweep::last() const noexcept {
  return list.empty() ? range.last : *std::max_element(list.begin(), list.end());
}

void SizeSweep::cut(std::size_t limit) {
  if (list.empty()) range.last = std::min(range.last, limit);
  std::erase_if(list, [limit](std::size_t size) { return size > limit; });
}

void SizeSweep::for_each(const std::function<void(std::size_t)>& visit) const {
  for (const std::size_t size : list) visit(size);
  if (!list.empty()) return;
  for (std::optional<std::size_t> size = range.first; size; size = range.next(*size)) visit(*size);
}

std::size_t parse_size_flag(std::string_view flag, std::string_view text) {
  if (auto size = core::parse_size(text)) return *size;
  throw UsageError(fmt::format("{} {}: not a size; write 8, 4K, 64M or 8G (powers of 1024)", flag, text));
}

void take_words(SizeRange& range, const SizeWords& words, const SizeFlags& flags) {
  if (!words.first.empty()) range.first = parse_size_flag(flags.first, words.first);
  if (!words.last.empty()) range.last = parse_size_flag(flags.last, words.last);
  if (!words.step.empty()) range.step = parse_size_flag(flags.step, words.step), range.factor = 1;
  if (!words.factor.empty()) range.factor = parse_size_flag(flags.factor, words.factor);
}

std::vector<std::size_t> parse_size_list(std::string_view flag, std::string_view text) {
  std::vector<std::size_t> sizes;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    sizes.push_back(parse_size_flag(flag, text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return sizes;
}

}  // namespace godwit::apps
