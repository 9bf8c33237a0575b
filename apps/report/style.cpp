#include "report/style.hpp"

#include <fmt/format.h>

namespace godwit::apps::report {

namespace {

/// Outlines around the origin.
constexpr std::array<std::string_view, mark_count> marks = {
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",     // circle
    "M-3.6 -3.6h7.2v7.2h-7.2z",                // square
    "M0 -4.6L4.4 3.4H-4.4z",                   // triangle
    "M0 -5L5 0L0 5L-5 0z",                     // diamond
    "M0 4.6L4.4 -3.4H-4.4z",                   // triangle, downward
    "M-1.5 -4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",  // plus
    "M-4.5 -2.4L-2.4 -4.5L0 -2.1L2.4 -4.5L4.5 -2.4L2.1 0L4.5 2.4L2.4 4.5L0 2.1L-2.4 4.5L-4.5 2.4L-2.1 0z",  // cross
    "M-5 -2.6h10v5.2h-10z",                                                                                 // bar
};

std::string themed(std::string_view ink, std::string_view muted, std::string_view grid, std::string_view background) {
  return fmt::format(".ink{{fill:{}}}.muted{{fill:{}}}.grid{{stroke:{}}}.axis{{stroke:{}}}.paper{{fill:{}}}\n", ink,
                     muted, grid, muted, background);
}

}  // namespace

SeriesStyle style_of(std::size_t index) noexcept {
  return {.color = index % palette.size(),
          .mark = (index + index / palette.size()) % mark_count,
          .dash = index / palette.size() % 3};
}

std::string classes_of(const SeriesStyle& style) { return fmt::format("c{} d{}", style.color, style.dash); }

std::string mark_at(const SeriesStyle& style, double x, double y) {
  return fmt::format("<path class=\"mark\" transform=\"translate({:.1f} {:.1f})\" d=\"{}\"/>", x, y,
                     marks[style.mark % mark_count]);
}

std::string chart_style_sheet() {
  std::string text =
      "svg text{font-family:system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;font-size:12px}\n"
      "svg .title{font-size:14px;font-weight:600}\n"
      ".line{fill:none;stroke:currentColor;stroke-width:1.8;stroke-linejoin:round}\n"
      ".line.first{stroke-width:2.8}\n"
      ".band{fill:currentColor;fill-opacity:.16;stroke:none}\n"
      ".whisker{stroke:currentColor;stroke-width:1.4}\n"
      ".mark{fill:currentColor}\n"
      ".hit{fill:none;pointer-events:all}\n"
      ".grid,.axis{stroke-width:1;fill:none}\n"
      ".d1 .line,.line.d1{stroke-dasharray:7 4}.d2 .line,.line.d2{stroke-dasharray:2 3}\n";
  for (std::size_t i = 0; i < palette.size(); ++i) text += fmt::format(".c{}{{color:{}}}", i, palette[i]);
  text += "\n" + themed("#1b1f24", "#57606a", "#dfe3e8", light_background);
  text += "@media (prefers-color-scheme:dark){" + themed("#e6e9ec", "#9aa4ae", "#2b3138", dark_background) + "}\n";
  return text;
}

}  // namespace godwit::apps::report
