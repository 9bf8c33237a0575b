// Scales, ticks, ratios, colours. What whole pages look like is checked by report_page_check.py.
#include "report/axis.hpp"
#include "report/chart.hpp"
#include "report/numbers.hpp"
#include "report/page.hpp"
#include "report/ratios.hpp"
#include "report/style.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace godwit::apps::report {
namespace {

Point at(double x, double y) { return {.x = x, .median = y, .min = y, .max = y}; }
Point at(const std::string& category, double y) { return {.category = category, .median = y, .min = y, .max = y}; }

Chart chart_of(std::vector<Point> points, XScale x = XScale::log2, YScale y = YScale::log) {
  return {.id = "c",
          .title = "t",
          .x_label = "x",
          .y_label = "y",
          .x_scale = x,
          .y_scale = y,
          .series = {{.runtime = "godwit", .points = std::move(points)}}};
}

std::vector<std::string> labels(const Axis& axis) {
  std::vector<std::string> texts;
  for (const Tick& tick : axis.ticks()) texts.push_back(tick.label);
  return texts;
}

void expect_ticks_in_order(const Axis& axis, std::size_t least, std::size_t most) {
  EXPECT_GE(axis.ticks().size(), least);
  EXPECT_LE(axis.ticks().size(), most);
  double before = -1e-9;
  for (const Tick& tick : axis.ticks()) {
    EXPECT_TRUE(tick.at > before || before < 0) << tick.label;
    EXPECT_LE(tick.at, 1 + 1e-9) << tick.label;
    before = tick.at;
  }
}

TEST(AxisX, Log2HasPowersOfTwo) {
  const Axis axis = Axis::x_of(chart_of({at(1, 1), at(4 << 20, 1)}));
  EXPECT_EQ(labels(axis), (std::vector<std::string>{"1", "8", "64", "512", "4K", "32K", "256K", "2M"}));
  EXPECT_NEAR(*axis.place(2048) - *axis.place(1024), *axis.place(2) - *axis.place(1), 1e-12);
  EXPECT_FALSE(axis.zero_place_end());
}

TEST(AxisX, ZeroStandsLeftOfEverything) {
  const Axis axis = Axis::x_of(chart_of({at(0, 1), at(1, 1), at(1 << 20, 1)}));
  EXPECT_EQ(labels(axis).front(), "0");
  ASSERT_TRUE(axis.zero_place_end());
  EXPECT_GT(*axis.place(0.0), 0);
  EXPECT_LT(*axis.place(0.0), *axis.zero_place_end());
  EXPECT_LT(*axis.zero_place_end(), *axis.place(1));
}

TEST(AxisX, FewSizesAreTicksThemselves) {
  EXPECT_EQ(labels(Axis::x_of(chart_of({at(8, 1)}))), std::vector<std::string>{"8"});
  EXPECT_EQ(labels(Axis::x_of(chart_of({at(8192, 1), at(8193, 1)}))), (std::vector<std::string>{"8K", "8193"}));
  EXPECT_EQ(labels(Axis::x_of(chart_of({at(0, 1)}))).front(), "0");
  EXPECT_FALSE(labels(Axis::x_of(chart_of({}))).empty());
}

TEST(AxisX, Categories) {
  Chart chart = chart_of({at("two", 1), at("eight", 2)}, XScale::category);
  chart.series.push_back({.runtime = "other", .points = {at("eight", 1), at("many", 2)}});
  const Axis axis = Axis::x_of(chart);
  EXPECT_EQ(labels(axis), (std::vector<std::string>{"two", "eight", "many"}));
  EXPECT_NEAR(*axis.place(at("two", 1)), 1.0 / 6, 1e-12);
  EXPECT_NEAR(*axis.place(at("many", 1)), 5.0 / 6, 1e-12);
}

TEST(AxisX, LinearHasRoundSteps) {
  const Axis axis = Axis::x_of(chart_of({at(1, 1), at(8, 1)}, XScale::linear));
  EXPECT_EQ(labels(axis), (std::vector<std::string>{"1", "2", "3", "4", "5", "6", "7", "8"}));
}

TEST(AxisY, LogarithmicTicksAreReadableAtEveryRange) {
  EXPECT_EQ(labels(Axis::y_of(chart_of({at(1, 0.2), at(2, 15)}))),
            (std::vector<std::string>{"0.2", "0.5", "1", "2", "5", "10"}));
  for (const double factor : {1.0, 1.0001, 1.5, 3.0, 10.0, 1e3, 1e5, 1e9, 1e30, 1e190})
    for (const double least : {1e-9, 0.163, 1.0, 12345.0}) {
      SCOPED_TRACE(least * factor);
      const Axis axis = Axis::y_of(chart_of({at(1, least), at(2, least * factor)}));
      expect_ticks_in_order(axis, 2, 14);
      EXPECT_GE(*axis.place(least), 0);
      EXPECT_LE(*axis.place(least * factor), 1);
    }
}

TEST(AxisY, ZeroHasNoPlaceOnALogarithmicAxis) {
  const Axis axis = Axis::y_of(chart_of({at(1, 0), at(2, 5), at(3, 50)}));
  EXPECT_FALSE(axis.place(0.0));
  EXPECT_TRUE(axis.place(5.0));
}

TEST(AxisY, OnlyZerosAndNothingAtAll) {
  for (const YScale scale : {YScale::log, YScale::linear})
    for (const Chart& chart : {chart_of({at(1, 0)}, XScale::log2, scale), chart_of({}, XScale::log2, scale)}) {
      const Axis axis = Axis::y_of(chart);
      expect_ticks_in_order(axis, 2, 14);
      EXPECT_EQ(axis.place(0.0), 0);
    }
}

TEST(AxisY, LinearBeginsAtZero) {
  for (const double most : {1e-12, 0.7, 4.0, 99.0, 12.3e6, 1e200}) {
    SCOPED_TRACE(most);
    const Axis axis = Axis::y_of(chart_of({at(1, most / 2), at(2, most)}, XScale::log2, YScale::linear));
    expect_ticks_in_order(axis, 3, 12);
    EXPECT_EQ(axis.ticks().front().label, "0");
    EXPECT_LE(*axis.place(most), 1);
    EXPECT_GT(*axis.place(most), 0.5);
  }
}

TEST(Numbers, Short) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(0.1634), "0.163");
  EXPECT_EQ(short_number(12.55), "12.6");
  EXPECT_EQ(short_number(999.4), "999");
  EXPECT_EQ(short_number(999.9), "1k");
  EXPECT_EQ(short_number(8320000), "8.32M");
  EXPECT_EQ(short_number(0.0000123), "1.23e-05");
  EXPECT_EQ(short_number(1e200), "1e+200");
  EXPECT_EQ(size_text(0), "0");
  EXPECT_EQ(size_text(8193), "8193");
  EXPECT_EQ(size_text(65536), "64K");
  EXPECT_EQ(size_text(1.5), "1.5");
  EXPECT_EQ(size_text(1e30), "1e+30");
}

TEST(Numbers, Escaping) {
  EXPECT_EQ(escaped("<script a=\"b\" c='d'>&amp;"), "&lt;script a=&quot;b&quot; c=&#39;d&#39;&gt;&amp;amp;");
  EXPECT_EQ(escaped("a\tb\nc\x01"), "a\tb\nc\xef\xbf\xbd");
  EXPECT_EQ(escaped("µs ≤ 1"), "µs ≤ 1");
}

double luminance(std::string_view color) {
  double sum = 0;
  constexpr std::array weights = {0.2126, 0.7152, 0.0722};
  for (std::size_t i = 0; i < 3; ++i) {
    const double channel = std::stoi(std::string(color.substr(1 + 2 * i, 2)), nullptr, 16) / 255.0;
    sum += weights[i] * (channel <= 0.03928 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4));
  }
  return sum;
}

double contrast(std::string_view a, std::string_view b) {
  const double first = luminance(a) + 0.05, second = luminance(b) + 0.05;
  return std::max(first / second, second / first);
}

TEST(Style, ColorsAreReadableInLightAndDark) {
  for (const std::string_view color : palette) {
    EXPECT_GE(contrast(color, light_background), 3) << color;
    EXPECT_GE(contrast(color, dark_background), 3) << color;
  }
}

TEST(Style, ManySeriesAllDiffer) {
  std::set<std::array<std::size_t, 3>> seen;
  std::set<std::size_t> marks;
  for (std::size_t i = 0; i < 24; ++i) {
    const SeriesStyle style = style_of(i);
    EXPECT_TRUE(seen.insert({style.color, style.mark, style.dash}).second) << i;
    if (i < mark_count) {
      EXPECT_TRUE(marks.insert(style.mark).second) << i;
    }
  }
}

Chart two_runtimes() {
  Chart chart = chart_of({at(8, 1), at(16, 2), at(32, 4)});
  chart.series.insert(chart.series.begin(), {.runtime = "A", .points = {at(8, 2), at(16, 1), at(64, 5)}});
  chart.series.push_back({.runtime = "B", .points = {at(8, 4), at(16, 0)}});
  chart.series.push_back({.runtime = "machine", .points = {at(8, 0.5)}});
  return chart;
}

TEST(Ratios, ReferenceByEachAndByTheBestRival) {
  const RatioTable table = ratio_table(two_runtimes(), "godwit");
  EXPECT_EQ(table.runtimes, (std::vector<std::string>{"godwit", "A", "B", "machine"}));
  ASSERT_EQ(table.rows.size(), 4U);
  EXPECT_EQ(table.rows[0].x, "8");
  EXPECT_EQ(table.rows[0].ratios, (std::vector<std::optional<double>>{std::nullopt, 0.5, 0.25, 2.0}));
  EXPECT_EQ(table.rows[0].to_best, 0.5);  // the machine is nobody's rival
  EXPECT_EQ(table.rows[1].ratios[1], 2.0);
  EXPECT_EQ(table.rows[1].ratios[2], std::nullopt);  // nothing is divided by zero
  EXPECT_EQ(table.rows[1].to_best, 2.0);
  EXPECT_EQ(table.rows[2].to_best, std::nullopt);     // 32: only the reference
  EXPECT_EQ(table.rows[3].medians[0], std::nullopt);  // 64: without it
  EXPECT_NEAR(*table.means[1], 1, 1e-12);
  EXPECT_NEAR(*table.mean_to_best, 1, 1e-12);
  EXPECT_EQ(table.worst_to_best, 2.0);
}

TEST(Ratios, WhereMoreIsBetter) {
  Chart chart = two_runtimes();
  chart.lower_is_better = false;
  const RatioTable table = ratio_table(chart, "godwit");
  EXPECT_EQ(table.rows[0].to_best, 0.25);
  EXPECT_EQ(table.worst_to_best, 0.25);
  EXPECT_TRUE(favourable(1.5, false));
  EXPECT_FALSE(favourable(1.5, true));
}

TEST(Ratios, NoReferenceNoSeries) {
  EXPECT_EQ(ratio_table(two_runtimes(), "nobody").runtimes.front(), "A");
  Chart empty = chart_of({});
  empty.series.clear();
  EXPECT_TRUE(ratio_table(empty, "godwit").rows.empty());
}

TEST(Chart, NothingIsDrawnOutsideOrWithoutNumbers) {
  for (const Chart& chart : {chart_of({at(0, 0), at(1, 0)}), chart_of({at(1, 1e-9), at(1e15, 1e200)}),
                             chart_of({at("a", 0)}, XScale::category), chart_of({})}) {
    const std::string svg = draw_chart(chart, {"godwit"}, {}, true);
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
  }
}

TEST(Page, AnEmptyDocumentIsStillAPage) {
  EXPECT_NE(html_page({}).find("</html>"), std::string::npos);
  EXPECT_NE(svg_picture({}).find("</svg>"), std::string::npos);
}

}  // namespace
}  // namespace godwit::apps::report
