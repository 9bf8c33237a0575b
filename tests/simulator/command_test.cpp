// `godwit simulate` without its main(): flags, tables, explanations, training, the page.
#include "common/usage.hpp"
#include "report/page.hpp"
#include "simulate/cluster_file.hpp"
#include "simulate/explain.hpp"
#include "simulate/print.hpp"
#include "simulate/training.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace godwit::apps {
namespace {

using collectives::simulator::Cluster;

constexpr const char* two_nodes = R"({"nodes": 2, "ranks_per_node": 4, "inside": {"link": "nvlink4"},
  "network": {"link": "hdr"}, "ranks": {"reduce_GBps": 500, "copy_GBps": 500}})";
constexpr const char* one_host = R"({"nodes": 1, "ranks_per_node": 4, "inside": {"link": "memory"},
  "ranks": {"reduce_GBps": 10, "copy_GBps": 10, "eager_bytes": 4096}})";

SimulateOptions options_of(std::vector<std::string> words) {
  CLI::App app;
  SimulateWords parsed;
  add_simulate_flags(app, parsed);
  std::reverse(words.begin(), words.end());
  app.parse(words);
  return simulate_options(parsed);
}

std::string complaint(const std::vector<std::string>& words) {
  try {
    options_of(words);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

Forecaster forecaster(const char* cluster, const SimulateOptions& options) {
  return {parse_cluster(cluster, "c.json"), options};
}

using Printer = void (*)(const Forecaster&, const SimulateOptions&, const Print&);
std::string printed(Printer printer, const char* cluster, std::vector<std::string> words) {
  words.insert(words.begin(), {"--cluster", "c.json"});
  const SimulateOptions options = options_of(words);
  std::string text;
  printer(forecaster(cluster, options), options, [&](std::string_view more) { text += more; });
  return text;
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(SimulateOptions, AreUnderstood) {
  const SimulateOptions options =
      options_of({"--cluster", "c.json", "AllGather", "-b", "1M", "-e", "1G", "-f", "2", "-d", "half"});
  EXPECT_EQ(options.benchmark, Benchmark::all_gather);
  EXPECT_EQ(options.sizes.first, 1U << 20);
  EXPECT_EQ(options.sizes.factor, 2U);
  EXPECT_EQ(options.type, DataType::float16);
  EXPECT_EQ(options_of({"--cluster", "c", "--parameters", "1.3G", "--compute-ms", "300"}).parameters, 1.3e9);
}

TEST(SimulateOptions, SayWhatIsWrong) {
  EXPECT_TRUE(contains(complaint({"allreduce"}), "name a cluster"));
  EXPECT_TRUE(contains(complaint({"--cluster", "c", "alltoal"}), "no collective of that name; there are allreduce"));
  EXPECT_TRUE(contains(complaint({"--cluster", "c"}), "which collective?"));
  EXPECT_TRUE(contains(complaint({"--cluster", "c", "allreduce", "-d", "all"}), "one type"));
  EXPECT_TRUE(contains(complaint({"--cluster", "c", "--parameters", "7B", "--compute-ms", "3"}), "--parameters 7B"));
  EXPECT_TRUE(contains(complaint({"--cluster", "c", "--parameters", "7G"}), "--compute-ms 300"));
  EXPECT_TRUE(contains(complaint({"--cluster", "c", "allreduce", "--bucket", "4M"}), "go with --parameters"));
}

TEST(Forecaster, RefusesWhatTheClusterHasNot) {
  const auto words = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"--cluster", "c", "broadcast"});
    try {
      forecaster(two_nodes, options_of(more));
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(words({}), "");
  EXPECT_EQ(words({"--ranks", "9"}), "--ranks 9: the cluster has 2 nodes of 4 ranks, 8 in all; raise --nodes");
  EXPECT_EQ(words({"--ranks", "9", "--nodes", "3"}), "");
  EXPECT_EQ(words({"-r", "8"}), "-r 8: there are 8 ranks, 0 to 7");
  EXPECT_TRUE(contains(words({"--algo", "rings"}), "rings"));
}

TEST(Table, HasTheColumnsOfTheBenchmarks) {
  const std::string text = printed(print_table, two_nodes, {"allreduce", "-b", "1M", "-e", "4M", "-f", "2"});
  EXPECT_TRUE(contains(text, "#       size         count      type   redop    root     time   algbw   busbw  #wrong"));
  std::istringstream lines(text);
  int results = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    double size, count, time, algbw, busbw;
    std::string type, redop, root;
    words >> size >> count >> type >> redop >> root >> time >> algbw >> busbw;
    ASSERT_TRUE(words) << line;
    EXPECT_EQ(size, count * 4);
    EXPECT_NEAR(algbw, size / time / 1e3, algbw * 0.01 + 0.01);
    EXPECT_NEAR(busbw, algbw * 2 * 7 / 8, 0.02);
    ++results;
  }
  EXPECT_EQ(results, 3);
}

TEST(Table, SmallOnesOfAHostGoByFlags) {
  const std::string text = printed(print_table, one_host, {"allreduce", "-b", "8", "-e", "1K", "-f", "128"});
  EXPECT_TRUE(contains(text, "#            8  flags (formula)")) << text;
  EXPECT_FALSE(contains(text, "1024  flags")) << text;
}

TEST(Table, FollowsTheRules) {
  const std::string text =
      printed(print_table, two_nodes, {"allreduce", "-b", "1M", "-e", "1M", "--algo", "allreduce:binomial"});
  EXPECT_TRUE(contains(text, "1048576  binomial (full)")) << text;
}

TEST(Table, ExplainsItself) {
  const std::string text =
      printed(print_table, two_nodes, {"allreduce", "-b", "64M", "-e", "64M", "--algo", "ring", "--explain"});
  EXPECT_TRUE(contains(text, "#   critical path: ")) << text;
  EXPECT_TRUE(contains(text, "bytes on links (")) << text;
  EXPECT_TRUE(contains(text, "#   busiest link: adapter of node ")) << text;
  EXPECT_TRUE(contains(text, "#   plan of rank 0: ")) << text;
}

TEST(Comparison, MarksTheFastestOfEachSize) {
  const std::string text = printed(print_comparison, two_nodes, {"allreduce", "-b", "8", "-e", "8M", "-f", "1024"});
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("#")) {
      EXPECT_EQ(std::count(line.begin(), line.end(), '*'), 1) << line;
      EXPECT_EQ(std::count(line.begin(), line.end(), '<'), 1) << line;
    }
}

TEST(Training, HidesWhatFitsBehindTheBackwardPass) {
  // Ten buckets, ready every 60 ms from 360 ms on (a third of 900 ms is the forward pass).
  const auto step = [](double allreduce) {
    return training_step(1000, 100, 0.9, [=](std::size_t) { return allreduce; });
  };
  EXPECT_EQ(step(0.01).buckets, 10U);
  EXPECT_NEAR(step(0.01).step_s, 0.91, 1e-12);       // only the last one is left over
  EXPECT_NEAR(step(0.1).step_s, 0.36 + 1.0, 1e-12);  // they queue up from the first one on
  EXPECT_NEAR(step(0.1).communication_s, 1.0, 1e-12);
  EXPECT_NEAR(step(0.1).efficiency(), 0.9 / 1.36, 1e-12);
  EXPECT_NEAR(step(0.1).without_overlap(), 0.9 / 1.9, 1e-12);
}

TEST(Training, TheLastBucketIsSmaller) {
  std::vector<std::size_t> asked;
  const auto step = training_step(250, 100, 1, [&](std::size_t bytes) {
    asked.push_back(bytes);
    return 0.0;
  });
  EXPECT_EQ(step.buckets, 3U);
  EXPECT_EQ(asked, (std::vector<std::size_t>{100, 50}));
}

TEST(Training, IsPrinted) {
  const std::string text = printed(print_training, two_nodes, {"--parameters", "100M", "--compute-ms", "100"});
  EXPECT_TRUE(contains(text, "# training step: 1e+08 parameters, gradients of float in 16 buckets of 25M")) << text;
  EXPECT_TRUE(contains(text, "efficiency")) << text;
}

TEST(Page, HasACurveForEachAlgorithm) {
  const SimulateOptions options = options_of({"--cluster", "c", "allreduce", "-b", "1K", "-e", "1M", "-f", "32"});
  const std::string page = report::html_page(curves(forecaster(two_nodes, options), options, "godwit simulate"));
  for (const char* name : {"Predicted, not measured", "godwit (selector)", "recursive_doubling", "ring", "<svg"})
    EXPECT_TRUE(contains(page, name)) << name;
  EXPECT_FALSE(contains(page, "<script"));
}

}  // namespace
}  // namespace godwit::apps
