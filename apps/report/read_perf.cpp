#include "report/read_perf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace godwit::apps::report {

namespace {

using Facts = std::vector<std::pair<std::string, std::string>>;  // name and value

/// What tells the results of one size apart, beside the place.
Facts facts_of(const Checked& result) {
  Facts facts;
  for (const char* key : {"type", "redop"})
    if (result.has(key)) facts.emplace_back(key, result.at(key).text());
  if (result.has("root") && !result.at("root").is_negative())
    facts.emplace_back("root", fmt::format("root {}", result.at("root").whole_number()));
  return facts;
}

class PerfReader {
 public:
  explicit PerfReader(const Checked& file) : file_(file), tool_(file.at("tool").text()) {}

  Document read() {
    for (const Checked& result : file_.at("results").list())
      for (const auto& [name, value] : facts_of(result)) values_[name].insert(value);
    for (const Checked& result : file_.at("results").list()) add(result);
    const int ranks = file_.at("ranks").whole_number(), hosts = file_.at("hosts").whole_number();
    return {.title = fmt::format("{}: {} rank{} on {} host{} by {}", tool_, ranks, ranks == 1 ? "" : "s", hosts,
                                 hosts == 1 ? "" : "s", file_.at("transport").text()),
            .command = file_.has("command") ? file_.at("command").text() : tool_,
            .date = file_.has("date") ? file_.at("date").text() : "",
            .machine = file_.has("machine") ? read_machine(file_.at("machine")) : Machine{},
            .runtimes = runtimes(),
            .charts = charts_,
            .targets = {}};
  }

 private:
  std::vector<Runtime> runtimes() const {
    std::string about = "transport " + file_.at("transport").text();
    if (file_.has("memory")) about += ", memory " + file_.at("memory").text();
    if (file_.has("threads") && file_.at("threads").whole_number() > 1)
      about += fmt::format(", {} threads a rank", file_.at("threads").whole_number());
    std::vector<Runtime> all;
    for (const std::string& name : names_) all.push_back({name, file_.at("version").text(), about});
    return all;
  }

  /// "godwit", and those facts that differ between results: "godwit, half, in place".
  std::string series_name(const Checked& result) const {
    std::string name = "godwit";
    for (const auto& [fact, value] : facts_of(result))
      if (values_.at(fact).size() > 1) name += ", " + value;
    if (result.has("in_place") && result.at("in_place").boolean()) name += ", in place";
    return name;
  }

  void add(const Checked& result) {
    const double size = result.at("size").number();
    const std::string name = series_name(result);
    if (std::find(names_.begin(), names_.end(), name) == names_.end()) names_.push_back(name);
    if (result.has("latency_us")) {
      const Checked us = result.at("latency_us");
      const double p99 = us.at("p99").number(), median = us.at("median").number(), min = us.at("min").number();
      put("latency", "latency", "us", true, name,
          {.x = size, .median = median, .min = std::min(min, median), .max = std::max(p99, median)});
    }
    const bool rate = tool_.ends_with("msg_rate");
    add_plain(result, "messages_per_s", rate, "rate", "message rate", "messages/s", name, size);
    add_plain(result, "bandwidth_MBps", !rate, "bandwidth", "bandwidth", "MB/s", name, size);
    add_plain(result, "busbw_GBps", true, "busbw", "bus bandwidth", "GB/s", name, size);
    if (result.has("waiting_cpu_percent")) {
      const double percent = result.at("waiting_cpu_percent").number();
      put("cpu", "CPU time of the waiting process", "% of a core", true, name,
          {.x = size, .median = percent, .min = percent, .max = percent});
    }
  }

  void add_plain(const Checked& result, const std::string& key, bool wanted, const std::string& id,
                 const std::string& title, const std::string& unit, const std::string& name, double size) {
    if (!result.has(key)) return;
    const double value = result.at(key).number();
    if (wanted) put(id, title, unit, false, name, {.x = size, .median = value, .min = value, .max = value});
  }

  /// A size that is measured again (-N) is another round.
  void put(const std::string& id, const std::string& title, const std::string& unit, bool lower,
           const std::string& name, const Point& point) {
    const std::string full_id = tool_ + "." + id;
    auto chart = std::find_if(charts_.begin(), charts_.end(), [&](const Chart& known) { return known.id == full_id; });
    if (chart == charts_.end())
      chart = charts_.insert(charts_.end(), Chart{.id = full_id,
                                                  .title = tool_ + ": " + title,
                                                  .x_label = "size (bytes)",
                                                  .y_label = unit,
                                                  .lower_is_better = lower});
    auto series = std::find_if(chart->series.begin(), chart->series.end(),
                               [&](const Series& known) { return known.runtime == name; });
    if (series == chart->series.end()) series = chart->series.insert(chart->series.end(), {name, {}});
    auto known = std::find_if(series->points.begin(), series->points.end(),
                              [&](const Point& other) { return other.x == point.x; });
    if (known == series->points.end()) known = series->points.insert(series->points.end(), point);
    known->rounds.push_back(point.median);
    std::vector<double> sorted = known->rounds;
    std::sort(sorted.begin(), sorted.end());
    known->median = (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
    known->min = std::min(known->min, point.min);
    known->max = std::max(known->max, point.max);
  }

  const Checked& file_;
  std::string tool_;
  std::vector<Chart> charts_;
  std::vector<std::string> names_;
  std::map<std::string, std::set<std::string>> values_;  // by fact
};

}  // namespace

Document read_perf(const Checked& file) { return PerfReader(file).read(); }

}  // namespace godwit::apps::report
