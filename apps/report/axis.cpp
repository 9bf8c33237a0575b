#include "report/axis.hpp"

#include "report/numbers.hpp"

#include <algorithm>
#include <cmath>

namespace godwit::apps::report {

namespace {

/// Steps of 1, 2 or 5 times a power of ten, about five to a range.
double nice_step(double range) {
  const double raw = range / 5, power = std::pow(10, std::floor(std::log10(raw))), rest = raw / power;
  return (rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10) * power;
}

std::vector<double> every(double step, double least, double most) {
  std::vector<double> values;
  const double first = std::ceil(least / step - 1e-9), last = std::floor(most / step + 1e-9);
  for (double i = first; i <= last; ++i) values.push_back(i * step);
  return values;
}

}  // namespace

double Axis::transformed(double value) const {
  switch (transform_) {
    case Transform::log2: return std::log2(value);
    case Transform::log10: return std::log10(value);
    case Transform::none: break;
  }
  return value;
}

std::optional<double> Axis::place(double value) const {
  if (transform_ == Transform::none || value > 0) return share(transformed(value));
  return zero_;
}

double Axis::index_of(const Point& point) const {
  return static_cast<double>(std::find(categories_.begin(), categories_.end(), point.category) - categories_.begin());
}

Axis Axis::categories_of(const Chart& chart) {
  Axis axis;
  axis.categorical_ = true;
  for (const Series& series : chart.series)
    for (const Point& point : series.points)
      if (std::find(axis.categories_.begin(), axis.categories_.end(), point.category) == axis.categories_.end())
        axis.categories_.push_back(point.category);
  axis.low_ = -0.5;
  axis.high_ = std::max(0.5, static_cast<double>(axis.categories_.size()) - 0.5);
  for (std::size_t i = 0; i < axis.categories_.size(); ++i)
    axis.ticks_.push_back({axis.share(static_cast<double>(i)), axis.categories_[i]});
  return axis;
}

Axis Axis::log2_of(const std::vector<double>& values) {
  Axis axis;
  axis.transform_ = Transform::log2;
  double least = HUGE_VAL, most = 0;
  for (const double value : values)
    if (value > 0) least = std::min(least, value), most = std::max(most, value);
  if (most == 0) least = most = 1;
  const double first = std::log2(least), last = std::log2(most);
  const double margin = std::max(0.5, (last - first) * 0.03);
  axis.low_ = first - margin;
  axis.high_ = last + margin;
  if (std::find(values.begin(), values.end(), 0.0) != values.end()) {  // zero gets a place of its own at the left
    axis.low_ -= 2 * margin;
    axis.zero_ = axis.share(axis.low_ + margin);
    axis.zero_end_ = axis.share(first - margin);
    axis.ticks_.push_back({*axis.zero_, "0"});
  }
  const double octaves = last - first, step = std::max(1.0, std::ceil(octaves / 9));
  std::vector<double> shown;
  for (const double power : every(step, first, last)) shown.push_back(std::exp2(power));
  if (shown.size() < 2) shown = least == most ? std::vector{least} : std::vector{least, most};
  for (const double value : shown) axis.ticks_.push_back({axis.share(std::log2(value)), size_text(value)});
  return axis;
}

Axis Axis::linear_of(double least, double most, bool from_zero) {
  Axis axis;
  if (from_zero) least = 0;
  if (most <= least) most = least + (least == 0 ? 1 : least / 2);
  const double step = nice_step(most - least);
  axis.low_ = std::floor(least / step + 1e-9) * step;
  axis.high_ = std::ceil(most / step - 1e-9) * step;
  for (const double value : every(step, axis.low_, axis.high_))
    axis.ticks_.push_back({axis.share(value), short_number(value)});
  return axis;
}

Axis Axis::log10_of(double least, double most) {
  Axis axis;
  axis.transform_ = Transform::log10;
  const double margin = std::max(0.04, (std::log10(most) - std::log10(least)) * 0.04);
  axis.low_ = std::log10(least) - margin;
  axis.high_ = std::log10(most) + margin;
  const double decades = axis.high_ - axis.low_;
  std::vector<double> shown;
  if (decades < 0.7) {  // less than a factor of five: evenly spaced values
    const double bottom = std::pow(10, axis.low_), top = std::pow(10, axis.high_);
    shown = every(nice_step(top - bottom), bottom, top);
  } else {
    const std::vector<double> digits = decades < 4 ? std::vector{1.0, 2.0, 5.0} : std::vector{1.0};
    for (const double power : every(decades < 9 ? 1 : std::ceil(decades / 8), std::floor(axis.low_), axis.high_))
      for (const double digit : digits) shown.push_back(digit * std::pow(10, power));
  }
  for (const double value : shown) {
    const double at = axis.share(std::log10(value));
    if (at >= 0 && at <= 1) axis.ticks_.push_back({at, short_number(value)});
  }
  return axis;
}

Axis Axis::x_of(const Chart& chart) {
  if (chart.x_scale == XScale::category) return categories_of(chart);
  std::vector<double> values;
  for (const Series& series : chart.series)
    for (const Point& point : series.points) values.push_back(point.x);
  if (chart.x_scale == XScale::log2) return log2_of(values);
  if (values.empty()) return linear_of(0, 1, true);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return linear_of(*least, *most, false);
}

Axis Axis::y_of(const Chart& chart) {
  double least = HUGE_VAL, most = 0;
  for (const Series& series : chart.series)
    for (const Point& point : series.points)
      for (const double value : {point.min, point.median, point.max}) {
        most = std::max(most, value);
        if (value > 0) least = std::min(least, value);
      }
  // Without any value above zero there is nothing to take a logarithm of.
  return chart.y_scale == YScale::log && most > 0 ? log10_of(least, most) : linear_of(0, most, true);
}

}  // namespace godwit::apps::report
