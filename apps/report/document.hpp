// What a report shows, as read from JSON files: charts, targets, and what they were measured on. Plain values.
#pragma once

#include "common/machine.hpp"

#include <string>
#include <vector>

namespace godwit::apps::report {

struct Runtime {
  std::string name, version, about;
};

enum class XScale { log2, linear, category };
enum class YScale { log, linear };

/// The median of some rounds and their spread. On a category axis `category` says where, else `x`.
struct Point {
  double x = 0;
  std::string category = {};
  double median = 0, min = 0, max = 0;
  std::vector<double> rounds = {};
};

struct Series {
  std::string runtime;
  std::vector<Point> points;
};

struct Chart {
  std::string id, title, x_label, y_label;
  XScale x_scale = XScale::log2;
  YScale y_scale = YScale::log;
  bool lower_is_better = true;
  std::vector<Series> series = {};
};

/// A figure to be reached.
struct Target {
  std::string name, want, got;
  bool met = false;
  std::string note;
};

struct Document {
  std::string title, command, date;
  Machine machine;
  std::vector<Runtime> runtimes;
  std::vector<Chart> charts;
  std::vector<Target> targets;
};

/// The runtime whose figures are divided by those of the others: "godwit", else the first that begins with that word,
/// else the first. Empty if there are no charts.
std::string reference_runtime(const Document& document);
/// False for "machine", which stands for what the hardware does without any library: it is drawn, but nobody's rival.
bool is_rival(const std::string& runtime);
/// Names of runtimes in the order of their first appearance, so that one keeps its colour in all charts.
std::vector<std::string> runtime_order(const Document& document);

}  // namespace godwit::apps::report
