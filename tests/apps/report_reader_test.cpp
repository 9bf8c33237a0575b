// From JSON files to charts: what is read, and what is said about files that are not as they should be.
#include "report/checked_json.hpp"
#include "report/read.hpp"

#include <gtest/gtest.h>

namespace godwit::apps::report {
namespace {

using nlohmann::json;

json point(json x, double median) {
  return {{"x", x}, {"median", median}, {"min", median * 0.9}, {"max", median * 1.2}, {"rounds", {median, median}}};
}

json bench() {
  return {{"title", "Everything"},
          {"command", "./dev bench"},
          {"date", "2026-01-31T12:00:00Z"},
          {"machine",
           {{"cpu", "A CPU"},
            {"cpus", 2},
            {"caches", "L1d 48K"},
            {"memory", "16 GiB"},
            {"kernel", "Linux 6.1"},
            {"virtual", "no"},
            {"pinning", "cpu 0, cpu 1"}}},
          {"runtimes", json::array({{{"name", "MPICH"}, {"version", "4.0"}, {"about", "mpich.org"}},
                                    {{"name", "godwit"}, {"version", "0.1"}, {"about", "this"}}})},
          {"charts",
           json::array({{{"id", "lat"},
                         {"title", "Latency"},
                         {"x_label", "bytes"},
                         {"y_label", "us"},
                         {"x_scale", "log2"},
                         {"y_scale", "log"},
                         {"better", "lower"},
                         {"series", json::array({{{"runtime", "MPICH"}, {"points", {point(0, 0.4), point(8, 0.5)}}},
                                                 {{"runtime", "godwit"}, {"points", {point(8, 0.2)}}}})}}})},
          {"targets", json::array({{{"name", "8 B"}, {"want", "0.8"}, {"got", "0.4"}, {"met", true}, {"note", ""}}})}};
}

std::string error_of(const std::string& text) {
  try {
    read_document({.file = "x.json", .text = text});
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ReportReader, ReadsWhatBenchWrites) {
  const Document document = read_document({.file = "x.json", .text = bench().dump()});
  EXPECT_EQ(document.title, "Everything");
  EXPECT_EQ(document.machine.cpus, 2);
  EXPECT_EQ(document.machine.virtual_machine, "no");
  ASSERT_EQ(document.charts.size(), 1U);
  const Chart& chart = document.charts.front();
  EXPECT_EQ(chart.x_scale, XScale::log2);
  EXPECT_EQ(chart.y_scale, YScale::log);
  EXPECT_TRUE(chart.lower_is_better);
  ASSERT_EQ(chart.series.size(), 2U);
  EXPECT_EQ(chart.series[0].points[1].x, 8);
  EXPECT_EQ(chart.series[0].points[1].rounds.size(), 2U);
  EXPECT_TRUE(document.targets.front().met);
  EXPECT_EQ(runtime_order(document), (std::vector<std::string>{"godwit", "MPICH"}));
  EXPECT_EQ(reference_runtime(document), "godwit");
}

TEST(ReportReader, EveryMissingKeyIsNamed) {
  EXPECT_EQ(error_of("{}"),
            "x.json: the whole file: expected the key \"charts\" (as ./dev bench writes it) or \"results\" (as -J "
            "writes it), found an object");
  const auto without = [](const json::json_pointer& object, const std::string& key) {
    json document = bench();
    document[object].erase(key);
    return error_of(document.dump());
  };
  using Pointer = json::json_pointer;
  for (const char* key : {"title", "command", "date", "machine", "runtimes", "targets"})
    EXPECT_EQ(without(Pointer(""), key), std::string("x.json: ") + key + ": this key is missing");
  for (const char* key : {"cpu", "cpus", "caches", "memory", "kernel", "virtual", "pinning"})
    EXPECT_EQ(without(Pointer("/machine"), key), std::string("x.json: machine.") + key + ": this key is missing");
  for (const char* key : {"id", "title", "x_label", "y_label", "x_scale", "y_scale", "better", "series"})
    EXPECT_EQ(without(Pointer("/charts/0"), key), std::string("x.json: charts[0].") + key + ": this key is missing");
  for (const char* key : {"x", "median", "min", "max", "rounds"})
    EXPECT_EQ(without(Pointer("/charts/0/series/1/points/0"), key),
              std::string("x.json: charts[0].series[1].points[0].") + key + ": this key is missing");
  for (const char* key : {"name", "want", "got", "met", "note"})
    EXPECT_EQ(without(Pointer("/targets/0"), key), std::string("x.json: targets[0].") + key + ": this key is missing");
}

TEST(ReportReader, EveryWrongValueIsNamedWithWhatWasExpected) {
  const auto with = [](const char* path, const json& value) {
    json document = bench();
    document[json::json_pointer(path)] = value;
    return error_of(document.dump());
  };
  EXPECT_EQ(with("/title", 3), "x.json: title: expected a string, found 3");
  EXPECT_EQ(with("/machine/cpus", 2.5), "x.json: machine.cpus: expected a whole number, found 2.5");
  EXPECT_EQ(with("/charts/0/y_scale", "cubic"),
            "x.json: charts[0].y_scale: expected one of log, linear, found \"cubic\"");
  EXPECT_EQ(with("/charts/0/better", true), "x.json: charts[0].better: expected one of lower, higher, found true");
  EXPECT_EQ(with("/charts/0/series", "none"), "x.json: charts[0].series: expected an array, found \"none\"");
  EXPECT_EQ(with("/charts/0/series/0/points/0/median", nullptr),
            "x.json: charts[0].series[0].points[0].median: expected a number, found null");
  EXPECT_EQ(with("/charts/0/series/0/points/0/min", -1),
            "x.json: charts[0].series[0].points[0].min: expected a number from 0 to 1e200, found -1");
  EXPECT_NE(with("/charts/0/series/0/points/0/max", 1e201).find("from 0 to 1e200"), std::string::npos);
  EXPECT_NE(with("/charts/0/series/0/points/0/max", 0.1).find("expected min <= median <= max"), std::string::npos);
  EXPECT_NE(with("/charts/0/series/0/points/0/x", "8 B").find("points[0].x: expected a number, found \"8 B\""),
            std::string::npos);
  EXPECT_EQ(with("/charts/0/series/0/runtime", "godwit"),
            "x.json: charts[0].series[1].runtime: expected a runtime that has no series before this one, found "
            "\"godwit\"");
  EXPECT_EQ(with("/targets/0/met", "yes"), "x.json: targets[0].met: expected true or false, found \"yes\"");
}

TEST(ReportReader, TextThatIsNoJsonAndNumbersThatAreNone) {
  EXPECT_TRUE(error_of("").starts_with("x.json: not JSON: "));
  EXPECT_TRUE(error_of("{\"title\": ").starts_with("x.json: not JSON: "));
  EXPECT_TRUE(error_of("{\"charts\": 1e999}").starts_with("x.json: not JSON: "));
  EXPECT_NE(error_of("[1, 2]").find("expected an object, found an array"), std::string::npos);
}

json perf(const std::string& tool, json results) {
  return {{"tool", tool}, {"version", "0.1.0"},  {"transport", "shm"},           {"ranks", 2},
          {"hosts", 1},   {"memory", "private"}, {"results", std::move(results)}};
}

json latency_result(std::size_t size, double median) {
  return {{"size", size},
          {"latency_us", {{"min", median / 2}, {"median", median}, {"p99", median * 3}, {"average", median}}}};
}

TEST(ReportReader, FilesOfPerfBecomeCharts) {
  const json file = perf("godwit perf send_lat", {latency_result(0, 0.2), latency_result(8, 0.25)});
  const Document document = read_document({.file = "x.json", .text = file.dump()});
  EXPECT_EQ(document.title, "godwit perf send_lat: 2 ranks on 1 host by shm");
  ASSERT_EQ(document.charts.size(), 1U);
  const Chart& chart = document.charts.front();
  EXPECT_TRUE(chart.lower_is_better);
  ASSERT_EQ(chart.series.size(), 1U);
  EXPECT_EQ(chart.series[0].runtime, "godwit");
  ASSERT_EQ(chart.series[0].points.size(), 2U);
  EXPECT_EQ(chart.series[0].points[1].median, 0.25);
  EXPECT_EQ(chart.series[0].points[1].max, 0.75);
}

TEST(ReportReader, BandwidthAndRateAreOneChartEach) {
  const json result = {{"size", 8}, {"bandwidth_MBps", 80.0}, {"messages_per_s", 1e7}};
  for (const auto& [tool, unit] : {std::pair("godwit perf msg_rate", "messages/s"), {"godwit perf send_bw", "MB/s"}}) {
    const Document document = read_document({.file = "x", .text = perf(tool, json::array({result})).dump()});
    ASSERT_EQ(document.charts.size(), 1U);
    EXPECT_EQ(document.charts[0].y_label, unit);
    EXPECT_FALSE(document.charts[0].lower_is_better);
  }
}

TEST(ReportReader, SeriesAreNamedByWhatDiffers) {
  json results = json::array();
  for (const char* type : {"float", "half"})
    for (const bool in_place : {false, true}) {
      json result = latency_result(8, 1);
      result.update({{"type", type}, {"redop", "sum"}, {"root", -1}, {"in_place", in_place}, {"busbw_GBps", 1.0}});
      results.push_back(result);
    }
  const Document document = read_document({.file = "x", .text = perf("all_reduce_perf", results).dump()});
  EXPECT_EQ(runtime_order(document), (std::vector<std::string>{"godwit, float", "godwit, float, in place",
                                                               "godwit, half", "godwit, half, in place"}));
  EXPECT_EQ(document.charts.size(), 2U);  // time and bus bandwidth
}

TEST(ReportReader, ASizeMeasuredAgainIsAnotherRound) {
  const json file = perf("all_reduce_perf",
                         {latency_result(8, 1), latency_result(8, 4), latency_result(8, 2), latency_result(16, 9)});
  const Document document = read_document({.file = "x", .text = file.dump()});
  const std::vector<Point>& points = document.charts.at(0).series.at(0).points;
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].rounds, (std::vector<double>{1, 4, 2}));
  EXPECT_EQ(points[0].median, 2);
  EXPECT_EQ(points[0].min, 0.5);
  EXPECT_EQ(points[0].max, 12);
}

TEST(ReportReader, SeveralFilesShareTheirCharts) {
  const json a = perf("godwit perf send_lat", {latency_result(8, 1)});
  const json b = perf("godwit perf send_lat", {latency_result(8, 2)});
  const json c = perf("godwit perf put_lat", {latency_result(8, 3)});
  const Document document = read_documents({{.file = "in/a.json", .text = a.dump()},
                                            {.file = "b.json", .text = b.dump()},
                                            {.file = "c.json", .text = c.dump()}});
  ASSERT_EQ(document.charts.size(), 2U);
  ASSERT_EQ(document.charts[0].series.size(), 2U);
  EXPECT_EQ(document.charts[0].series[0].runtime, "godwit (a)");
  EXPECT_EQ(document.charts[0].series[1].runtime, "godwit (b)");
  EXPECT_EQ(document.charts[1].series[0].runtime, "godwit (c)");
  EXPECT_EQ(reference_runtime(document), "godwit (a)");
}

TEST(ReportReader, EqualFileNamesAreToldApartByTheirFolders) {
  const json file = perf("godwit perf send_lat", {latency_result(8, 1)});
  const Document document =
      read_documents({{.file = "a/x.json", .text = file.dump()}, {.file = "b/x.json", .text = file.dump()}});
  EXPECT_EQ(document.charts[0].series[1].runtime, "godwit (b/x.json)");
}

TEST(ReportReader, ChartsOfOneIdMustAgree) {
  json other = bench();
  other["charts"][0]["y_scale"] = "linear";
  try {
    read_documents({{.file = "a.json", .text = bench().dump()}, {.file = "b.json", .text = other.dump()}});
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("b.json: chart lat: expected the axes")) << error.what();
  }
}

}  // namespace
}  // namespace godwit::apps::report
