#include "report/chart.hpp"
#include "report/numbers.hpp"
#include "report/page.hpp"
#include "report/style.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace godwit::apps::report {

std::string svg_picture(const Document& document) {
  constexpr std::size_t most_charts = 6;
  constexpr double width = 460, height = 300, margin = 12, head = 34;
  const std::vector<std::string> order = runtime_order(document);
  const std::size_t count = std::min(most_charts, document.charts.size());
  const std::size_t columns = count <= 1 ? 1 : 2, rows = (count + columns - 1) / columns;
  const double whole_width = 2 * margin + width * static_cast<double>(columns);

  std::vector<std::string> names;  // those that appear in one of the charts
  for (const std::string& name : order)
    for (std::size_t i = 0; i < count; ++i)
      if (std::any_of(document.charts[i].series.begin(), document.charts[i].series.end(),
                      [&](const Series& series) { return series.runtime == name; })) {
        names.push_back(name);
        break;
      }
  const Legend legend = draw_legend(names, order, whole_width - 2 * margin - 16);
  const double top = head + legend.height + 8;
  const double whole_height = top + height * static_cast<double>(rows) + margin;

  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "role=\"img\">\n<title>{2}</title>\n<style>\n{3}</style>\n<rect class=\"paper\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" rx=\"6\"/>\n<text class=\"ink title\" x=\"{4}\" y=\"24\">{2}</text>\n<g "
      "transform=\"translate({4} {5})\">{6}</g>\n",
      whole_width, whole_height, escaped(document.title), chart_style_sheet(), margin + 8, head, legend.svg);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t row = i / columns, column = i % columns;
    svg += fmt::format("<g transform=\"translate({:.1f} {:.1f})\">\n{}</g>\n",
                       margin + width * static_cast<double>(column), top + height * static_cast<double>(row),
                       draw_chart(document.charts[i], order, {width, height}, false));
  }
  return svg + "</svg>\n";
}

}  // namespace godwit::apps::report
