#include "report/ratios.hpp"

#include "report/numbers.hpp"

#include <algorithm>
#include <cmath>

namespace godwit::apps::report {

namespace {

class GeometricMean {
 public:
  void add(const std::optional<double>& value) {
    if (value) sum_ += std::log(*value), ++count_;
  }
  std::optional<double> mean() const {
    return count_ == 0 ? std::nullopt : std::optional(std::exp(sum_ / static_cast<double>(count_)));
  }

 private:
  double sum_ = 0;
  int count_ = 0;
};

std::optional<double> divided(const std::optional<double>& a, const std::optional<double>& b) {
  return a && b && *a > 0 && *b > 0 ? std::optional(*a / *b) : std::nullopt;
}

bool same_place(const Point& a, const Point& b) { return a.x == b.x && a.category == b.category; }

/// One point for each place, in order.
std::vector<Point> places_of(const Chart& chart) {
  std::vector<Point> places;
  for (const Series& series : chart.series)
    for (const Point& point : series.points)
      if (std::none_of(places.begin(), places.end(), [&](const Point& known) { return same_place(known, point); }))
        places.push_back(point);
  if (chart.x_scale != XScale::category)
    std::sort(places.begin(), places.end(), [](const Point& a, const Point& b) { return a.x < b.x; });
  return places;
}

std::string place_text(const Point& place, XScale scale) {
  if (scale == XScale::category) return place.category;
  return scale == XScale::log2 ? size_text(place.x) : short_number(place.x);
}

std::optional<double> median_at(const Series& series, const Point& place) {
  for (const Point& point : series.points)
    if (same_place(point, place)) return point.median;
  return std::nullopt;
}

}  // namespace

bool favourable(double ratio, bool lower_is_better) noexcept { return lower_is_better ? ratio <= 1 : ratio >= 1; }

RatioTable ratio_table(const Chart& chart, const std::string& reference) {
  RatioTable table;
  table.lower_is_better = chart.lower_is_better;
  std::vector<const Series*> columns;
  for (const Series& series : chart.series) columns.push_back(&series);
  const auto found =
      std::find_if(columns.begin(), columns.end(), [&](const Series* series) { return series->runtime == reference; });
  if (found != columns.end()) std::rotate(columns.begin(), found, found + 1);
  for (const Series* series : columns) table.runtimes.push_back(series->runtime);

  const auto better = [&](double a, double b) { return chart.lower_is_better ? a < b : a > b; };
  std::vector<GeometricMean> means(columns.size());
  GeometricMean mean_to_best;
  for (const Point& place : places_of(chart)) {
    RatioRow row{.x = place_text(place, chart.x_scale), .medians = {}, .ratios = {}, .to_best = {}};
    for (const Series* series : columns) row.medians.push_back(median_at(*series, place));
    std::optional<double> best;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto& median = row.medians[i];
      row.ratios.push_back(i == 0 ? std::nullopt : divided(row.medians.front(), median));
      means[i].add(row.ratios[i]);
      if (i > 0 && is_rival(table.runtimes[i]) && median && *median > 0 && (!best || better(*median, *best)))
        best = median;
    }
    row.to_best = divided(row.medians.front(), best);
    mean_to_best.add(row.to_best);
    if (row.to_best && (!table.worst_to_best || better(*table.worst_to_best, *row.to_best)))
      table.worst_to_best = row.to_best;
    table.rows.push_back(std::move(row));
  }
  for (const GeometricMean& mean : means) table.means.push_back(mean.mean());
  table.mean_to_best = mean_to_best.mean();
  return table;
}

}  // namespace godwit::apps::report
