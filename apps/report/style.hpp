// Colours and marks of series, and the style sheet of charts. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace godwit::apps::report {

/// Each has a contrast of at least 3 to both backgrounds.
inline constexpr std::array<std::string_view, 8> palette = {"#1273c4", "#d1551b", "#0f8f6b", "#a855c8",
                                                            "#9a7a00", "#d6417f", "#7a7f87", "#0c8fa8"};
inline constexpr std::string_view light_background = "#ffffff", dark_background = "#15181c";

/// How the n-th runtime of a report is drawn, in every chart. Beyond the palette colours come again, with other marks
/// and dashes.
struct SeriesStyle {
  std::size_t color = 0, mark = 0, dash = 0;
};
inline constexpr std::size_t mark_count = 8;
SeriesStyle style_of(std::size_t index) noexcept;

/// "c0 d0": the classes of its lines and marks.
std::string classes_of(const SeriesStyle& style);
/// The mark with its centre at x, y, about 8 units wide.
std::string mark_at(const SeriesStyle& style, double x, double y);

/// The rules of what draw_chart() and the legends use, for light and dark.
std::string chart_style_sheet();

}  // namespace godwit::apps::report
