#include "pmi/rank_list.hpp"

#include <fmt/format.h>

namespace godwit::pmi {

std::string rank_list(const std::vector<Rank>& ranks) {
  constexpr int max_items = 16;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  int items = 0;
  for (std::size_t i = 0; i < ranks.size(); ++items) {
    if (items == max_items) return text + fmt::format(" and {} more", ranks.size() - i);
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (items > 0) text += ", ";
    text += end - i == 1 ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace godwit::pmi
