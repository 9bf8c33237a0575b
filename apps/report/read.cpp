#include "report/read.hpp"

#include "report/checked_json.hpp"
#include "report/read_perf.hpp"

#include <fmt/format.h>

namespace godwit::apps::report {

namespace {

/// The value of the word under `key`.
template <class T>
T choice(const Checked& object, const std::string& key, const std::vector<std::pair<std::string, T>>& choices) {
  const Checked value = object.at(key);
  std::string expected;
  for (const auto& [word, meaning] : choices) {
    if (value.is_text() && value.text() == word) return meaning;
    expected += (expected.empty() ? "" : ", ") + word;
  }
  value.fail("one of " + expected);
}

Point read_point(const Checked& value, XScale scale) {
  Point point{.median = value.at("median").number(), .min = value.at("min").number(), .max = value.at("max").number()};
  const Checked x = value.at("x");
  if (scale == XScale::category)
    point.category = x.is_text() ? x.text() : fmt::format("{:g}", x.number());
  else
    point.x = x.number();
  for (const Checked& round : value.at("rounds").list()) point.rounds.push_back(round.number());
  if (!(point.min <= point.median && point.median <= point.max)) value.fail("min <= median <= max");
  return point;
}

Chart read_chart(const Checked& value) {
  Chart chart{
      .id = value.at("id").text(),
      .title = value.at("title").text(),
      .x_label = value.at("x_label").text(),
      .y_label = value.at("y_label").text(),
      .x_scale = choice<XScale>(value, "x_scale",
                                {{"log2", XScale::log2}, {"linear", XScale::linear}, {"category", XScale::category}}),
      .y_scale = choice<YScale>(value, "y_scale", {{"log", YScale::log}, {"linear", YScale::linear}}),
      .lower_is_better = choice<bool>(value, "better", {{"lower", true}, {"higher", false}})};
  for (const Checked& series : value.at("series").list()) {
    Series read{.runtime = series.at("runtime").text(), .points = {}};
    for (const Series& known : chart.series)
      if (known.runtime == read.runtime) series.at("runtime").fail("a runtime that has no series before this one");
    for (const Checked& point : series.at("points").list()) read.points.push_back(read_point(point, chart.x_scale));
    chart.series.push_back(std::move(read));
  }
  return chart;
}

Document read_bench(const Checked& file) {
  Document document{.title = file.at("title").text(),
                    .command = file.at("command").text(),
                    .date = file.at("date").text(),
                    .machine = read_machine(file.at("machine")),
                    .runtimes = {},
                    .charts = {},
                    .targets = {}};
  for (const Checked& runtime : file.at("runtimes").list())
    document.runtimes.push_back({runtime.at("name").text(), runtime.at("version").text(), runtime.at("about").text()});
  for (const Checked& chart : file.at("charts").list()) document.charts.push_back(read_chart(chart));
  for (const Checked& target : file.at("targets").list())
    document.targets.push_back({.name = target.at("name").text(),
                                .want = target.at("want").text(),
                                .got = target.at("got").text(),
                                .met = target.at("met").boolean(),
                                .note = target.at("note").text()});
  return document;
}

}  // namespace

Machine read_machine(const Checked& value) {
  return {.cpu = value.at("cpu").text(),
          .cpus = value.at("cpus").whole_number(),
          .caches = value.at("caches").text(),
          .memory = value.at("memory").text(),
          .kernel = value.at("kernel").text(),
          .virtual_machine = value.at("virtual").text(),
          .pinning = value.at("pinning").text()};
}

Document read_document(const Input& input) {
  const nlohmann::json json = parse_json(input.text, input.file);
  const Checked file(json, input.file);
  if (file.has("charts")) return read_bench(file);
  if (file.has("results")) return read_perf(file);
  file.fail(R"(the key "charts" (as ./dev bench writes it) or "results" (as -J writes it))");
}

}  // namespace godwit::apps::report
