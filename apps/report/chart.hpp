// One chart and its legend as SVG. Pure.
#pragma once

#include "report/document.hpp"

#include <string>
#include <vector>

namespace godwit::apps::report {

struct Legend {
  std::string svg;
  double height = 0;
};
/// Entries in rows, beginning at x 0, y 0. `order`: see runtime_order(); it gives each name its colour and mark.
Legend draw_legend(const std::vector<std::string>& names, const std::vector<std::string>& order, double width);

struct ChartSize {
  double width = 640, height = 400;
};
/// Elements for an <svg> or <g> of that size; needs chart_style_sheet().
std::string draw_chart(const Chart& chart, const std::vector<std::string>& order, ChartSize size, bool with_legend);

/// Roughly, in the fonts of the style sheet.
double text_width(std::string_view text, double font_size = 12);

}  // namespace godwit::apps::report
