#include "report/chart.hpp"
#include "report/numbers.hpp"
#include "report/style.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace godwit::apps::report {

double text_width(std::string_view text, double font_size) {
  const auto begins_character = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  return 0.57 * font_size * static_cast<double>(std::count_if(text.begin(), text.end(), begins_character));
}

Legend draw_legend(const std::vector<std::string>& names, const std::vector<std::string>& order, double width) {
  constexpr double row = 18, sample = 26, gap = 18;
  Legend legend;
  double x = 0, y = row / 2;
  for (const std::string& name : names) {
    const auto index = static_cast<std::size_t>(std::find(order.begin(), order.end(), name) - order.begin());
    const SeriesStyle style = style_of(index);
    const double needed = sample + 6 + text_width(name) + gap;
    if (x > 0 && x + needed - gap > width) x = 0, y += row;
    legend.svg += fmt::format(
        "<g class=\"{}\"><path class=\"line{}\" d=\"M{:.1f} {:.1f}h{}\"/>{}</g>"
        "<text class=\"ink\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
        classes_of(style), index == 0 ? " first" : "", x, y, sample, mark_at(style, x + sample / 2, y), x + sample + 6,
        y + 4, escaped(name));
    x += needed;
  }
  legend.height = names.empty() ? 0 : y + row / 2;
  return legend;
}

}  // namespace godwit::apps::report
