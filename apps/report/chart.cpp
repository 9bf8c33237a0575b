#include "report/chart.hpp"

#include "report/axis.hpp"
#include "report/numbers.hpp"
#include "report/style.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace godwit::apps::report {

namespace {

class ChartPicture {
 public:
  ChartPicture(const Chart& chart, const std::vector<std::string>& order, ChartSize size)
      : chart_(chart), order_(order), size_(size), x_(Axis::x_of(chart)), y_(Axis::y_of(chart)) {}

  std::string draw(bool with_legend) {
    std::string svg = fmt::format("<text class=\"ink title\" x=\"8\" y=\"18\">{}</text>\n", escaped(chart_.title));
    top_ = 30;
    if (with_legend) {
      std::vector<std::string> names;
      for (const Series& series : chart_.series) names.push_back(series.runtime);
      const Legend legend = draw_legend(names, order_, size_.width - 16);
      svg += fmt::format("<g transform=\"translate(8 28)\">{}</g>\n", legend.svg);
      top_ += legend.height + 4;
    }
    lay_out();
    svg += draw_y_axis() + draw_x_axis();
    // The first of the order is what the chart is about: it lies on top.
    for (std::size_t i = chart_.series.size(); i-- > 0;)
      if (index_of(chart_.series[i]) != 0) svg += draw_series(i);
    for (std::size_t i = 0; i < chart_.series.size(); ++i)
      if (index_of(chart_.series[i]) == 0) svg += draw_series(i);
    return svg;
  }

 private:
  struct Spot {
    double x, median, min, max;  // pixels
  };

  std::size_t index_of(const Series& series) const {
    return static_cast<std::size_t>(std::find(order_.begin(), order_.end(), series.runtime) - order_.begin());
  }

  void lay_out() {
    double widest = 0, widest_category = 0;
    for (const Tick& tick : y_.ticks()) widest = std::max(widest, text_width(tick.label));
    if (x_.categorical())
      for (const Tick& tick : x_.ticks()) widest_category = std::max(widest_category, text_width(tick.label));
    left_ = widest + 34;
    right_ = size_.width - 16;
    slot_ = (right_ - left_) / static_cast<double>(std::max<std::size_t>(x_.categories(), 1));
    slanted_ = x_.categorical() && widest_category > slot_ - 8;
    bottom_ = size_.height - 44 - (slanted_ ? std::min(0.42 * widest_category, 70.0) : 0);
  }

  double x_at(double share) const { return left_ + share * (right_ - left_); }
  double y_at(double share) const { return bottom_ - share * (bottom_ - top_); }

  std::string draw_y_axis() const {
    std::string svg;
    for (const Tick& tick : y_.ticks()) {
      const double y = y_at(tick.at);
      svg += fmt::format(
          "<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/><text class=\"muted\" x=\"{:.1f}\" y=\"{:.1f}\" "
          "text-anchor=\"end\">{}</text>\n",
          left_, y, right_, left_ - 6, y + 4, escaped(tick.label));
    }
    return svg + fmt::format(
                     "<text class=\"ink\" text-anchor=\"middle\" transform=\"translate(14 {:.1f}) rotate(-90)\">{}, {} "
                     "is better</text>\n",
                     (top_ + bottom_) / 2, escaped(chart_.y_label), chart_.lower_is_better ? "lower" : "higher");
  }

  std::string draw_x_axis() const {
    std::string svg =
        fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\"/>\n", left_, top_, bottom_, right_);
    for (const Tick& tick : x_.ticks()) {
      const double x = x_at(tick.at);
      if (!x_.categorical()) svg += fmt::format(R"(<path class="grid" d="M{:.1f} {:.1f}V{:.1f}"/>)", x, top_, bottom_);
      svg += slanted_
                 ? fmt::format(
                       "<text class=\"muted\" text-anchor=\"end\" transform=\"translate({:.1f} {:.1f}) "
                       "rotate(-25)\">{}</text>\n",
                       x + 6, bottom_ + 16, escaped(tick.label))
                 : fmt::format("<text class=\"muted\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x,
                               bottom_ + 17, escaped(tick.label));
    }
    if (const auto end = x_.zero_place_end())  // what is left of it is no part of the scale
      svg += fmt::format(
          "<path class=\"paper\" d=\"M{0:.1f} {1:.1f}h4v6h-4z\"/><path class=\"axis\" d=\"M{2:.1f} {3:.1f}l4 -8m4 0l-4 "
          "8\"/>\n",
          x_at(*end) - 2, bottom_ - 3, x_at(*end) - 4, bottom_ + 4);
    return svg + fmt::format("<text class=\"ink\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                             (left_ + right_) / 2, size_.height - 8, escaped(chart_.x_label));
  }

  /// Series stand side by side in a category.
  double dodge(std::size_t series) const {
    if (!x_.categorical()) return 0;
    const auto count = static_cast<double>(chart_.series.size());
    return (static_cast<double>(series) - (count - 1) / 2) * 0.7 * slot_ / count;
  }

  Spot spot(const Point& point, std::size_t series) const {
    const auto y = [this](double value) { return y_at(y_.place(value).value_or(0)); };
    return {x_at(x_.place(point).value_or(0)) + dodge(series), y(point.median), y(point.min), y(point.max)};
  }

  std::string title_of(const Series& series, const Point& point) const {
    std::string x = point.category;
    if (!x_.categorical()) x = chart_.x_scale == XScale::log2 ? size_text(point.x) : short_number(point.x);
    std::string text = fmt::format("{}, {}: {} ({})", series.runtime, x, short_number(point.median), chart_.y_label);
    if (point.max > point.min) text += fmt::format(", {} to {}", short_number(point.min), short_number(point.max));
    if (point.rounds.size() > 1) text += fmt::format(", {} rounds", point.rounds.size());
    return text;
  }

  std::string draw_series(std::size_t number) const {
    const Series& series = chart_.series[number];
    const std::size_t index = index_of(series);
    const SeriesStyle style = style_of(index);
    std::vector<Point> points = series.points;
    if (!x_.categorical())
      std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.x < b.x; });
    std::vector<Spot> spots;
    for (const Point& point : points) spots.push_back(spot(point, number));
    std::string svg = fmt::format("<g class=\"series {}\">\n", classes_of(style));
    if (!x_.categorical()) svg += draw_line(spots, index == 0);
    constexpr std::size_t most_marks = 200;  // of more points only the line is legible
    for (std::size_t i = 0; i < points.size() && (x_.categorical() || points.size() <= most_marks); ++i) {
      svg += fmt::format("<g><title>{}</title>", escaped(title_of(series, points[i])));
      if (x_.categorical() && points[i].max > points[i].min)
        svg +=
            fmt::format(R"(<path class="whisker" d="M{0:.1f} {1:.1f}V{2:.1f}M{3:.1f} {1:.1f}h8M{3:.1f} {2:.1f}h8"/>)",
                        spots[i].x, spots[i].min, spots[i].max, spots[i].x - 4);
      svg += mark_at(style, spots[i].x, spots[i].median);
      svg +=
          fmt::format("<circle class=\"hit\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"9\"/></g>\n", spots[i].x, spots[i].median);
    }
    return svg + "</g>\n";
  }

  static std::string draw_line(const std::vector<Spot>& spots, bool first) {
    if (spots.empty()) return {};
    std::string line, upper, lower;
    bool spread = false;
    for (const Spot& spot : spots) {
      line += fmt::format("{:.1f},{:.1f} ", spot.x, spot.median);
      upper += fmt::format("{:.1f},{:.1f} ", spot.x, spot.max);
      spread = spread || spot.min != spot.max;
    }
    for (std::size_t i = spots.size(); i-- > 0;) lower += fmt::format("{:.1f},{:.1f} ", spots[i].x, spots[i].min);
    std::string svg;
    if (spread) svg += fmt::format("<polygon class=\"band\" points=\"{}{}\"/>\n", upper, lower);
    return svg + fmt::format("<polyline class=\"line{}\" points=\"{}\"/>\n", first ? " first" : "", line);
  }

  const Chart& chart_;
  const std::vector<std::string>& order_;
  ChartSize size_;
  Axis x_, y_;
  double left_ = 0, right_ = 0, top_ = 0, bottom_ = 0, slot_ = 0;  // edges of the plot; width of a category
  bool slanted_ = false;                                           // category names do not fit side by side
};

}  // namespace

std::string draw_chart(const Chart& chart, const std::vector<std::string>& order, ChartSize size, bool with_legend) {
  return ChartPicture(chart, order, size).draw(with_legend);
}

}  // namespace godwit::apps::report
