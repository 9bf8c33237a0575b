// Axes: where a value stands, and which ticks are drawn. Pure.
#pragma once

#include "report/document.hpp"

#include <optional>
#include <string>
#include <vector>

namespace godwit::apps::report {

struct Tick {
  double at = 0;  // 0: begin of the axis, 1: its end
  std::string label;
};

class Axis {
 public:
  /// Holds all points of the chart.
  static Axis x_of(const Chart& chart);
  static Axis y_of(const Chart& chart);

  /// 0..1, or nothing where the axis has no place for it (zero on a logarithmic y axis).
  std::optional<double> place(const Point& point) const { return place(categorical_ ? index_of(point) : point.x); }
  std::optional<double> place(double value) const;
  const std::vector<Tick>& ticks() const noexcept { return ticks_; }
  /// The end of the place that a logarithmic x axis keeps for zero, if it does.
  std::optional<double> zero_place_end() const noexcept { return zero_end_; }
  bool categorical() const noexcept { return categorical_; }
  std::size_t categories() const noexcept { return categories_.size(); }

 private:
  Axis() = default;
  static Axis categories_of(const Chart& chart);
  static Axis log2_of(const std::vector<double>& values);
  static Axis log10_of(double least, double most);
  static Axis linear_of(double least, double most, bool from_zero);
  double index_of(const Point& point) const;
  double transformed(double value) const;
  double share(double transformed) const { return (transformed - low_) / (high_ - low_); }

  enum class Transform { none, log2, log10 } transform_ = Transform::none;
  double low_ = 0, high_ = 1;  // transformed values at the ends
  std::optional<double> zero_, zero_end_;
  bool categorical_ = false;
  std::vector<std::string> categories_;
  std::vector<Tick> ticks_;
};

}  // namespace godwit::apps::report
