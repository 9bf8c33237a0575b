#include "pmi/rank_list.hpp"

#include <fmt/format.h>

namespace godwit::pmi {
namespace {

std::string list(const char* noun, const std::vector<int>& numbers) {
  constexpr int max_items = 16;
  std::string text = fmt::format("{}{} ", noun, numbers.size() == 1 ? "" : "s");
  int items = 0;
  for (std::size_t i = 0; i < numbers.size(); ++items) {
    if (items == max_items) return text + fmt::format(" and {} more", numbers.size() - i);
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (items > 0) text += ", ";
    text += end - i == 1 ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace

std::string rank_list(const std::vector<Rank>& ranks) { return list("rank", ranks); }
std::string cpu_list(const std::vector<int>& cpus) { return list("CPU", cpus); }

}  // namespace godwit::pmi
