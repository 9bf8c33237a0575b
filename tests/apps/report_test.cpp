#include "common/report.hpp"
#include "common/cli.hpp"
#include "common/machine.hpp"
#include "common/memory.hpp"
#include "common/output_file.hpp"
#include "common/usage.hpp"

#include <gtest/gtest.h>
#include <godwit/error.hpp>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace godwit::apps {
namespace {

using nlohmann::json;

Report example() {
  Report report{.tool = "all_reduce_perf", .version = "0.1.0", .transport = "shm", .ranks = 4, .hosts = 1};
  report.results.push_back({.size = 8,
                            .count = 2,
                            .type = "float",
                            .redop = "sum",
                            .root = -1,
                            .in_place = false,
                            .latency_us = Summary{.min = 1, .median = 2, .p99 = 3, .average = 2.5},
                            .time_us = 2.5,
                            .algbw_GBps = 0.5,
                            .busbw_GBps = 0.75,
                            .wrong = 0});
  report.results.push_back({.size = 16, .bandwidth_MBps = 10.0, .messages_per_s = 1e6});
  return report;
}

TEST(Report, Schema) {
  const json document = json::parse(to_json(example()));
  EXPECT_EQ(document["tool"], "all_reduce_perf");
  EXPECT_EQ(document["version"], "0.1.0");
  EXPECT_EQ(document["transport"], "shm");
  EXPECT_EQ(document["ranks"], 4);
  EXPECT_EQ(document["hosts"], 1);
  ASSERT_EQ(document["results"].size(), 2U);
  const json& first = document["results"][0];
  EXPECT_EQ(first["size"], 8);
  EXPECT_EQ(first["latency_us"]["min"], 1.0);
  EXPECT_EQ(first["latency_us"]["median"], 2.0);
  EXPECT_EQ(first["latency_us"]["p99"], 3.0);
  EXPECT_EQ(first["algbw_GBps"], 0.5);
  EXPECT_EQ(first["busbw_GBps"], 0.75);
  EXPECT_EQ(first["in_place"], false);
  EXPECT_EQ(first["wrong"], 0);
}

TEST(Report, WhatDoesNotApplyIsMissing) {
  const json second = json::parse(to_json(example()))["results"][1];
  EXPECT_EQ(second.size(), 3U);
  EXPECT_EQ(second["bandwidth_MBps"], 10.0);
  EXPECT_EQ(second["messages_per_s"], 1e6);
  EXPECT_FALSE(second.contains("wrong"));
}

TEST(Report, NoResultsIsAnEmptyList) { EXPECT_EQ(json::parse(to_json({}))["results"], json::array()); }

class OutputFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "godwit-report-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }
  std::filesystem::path folder_;
};

TEST_F(OutputFileTest, WritesTheWholeFile) {
  const auto path = folder_ / "out.json";
  {
    OutputFile file("-J", path.string());
    EXPECT_FALSE(std::filesystem::exists(path));
    file.write("all of it");
  }
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), "all of it");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFileTest, AnAbortedRunLeavesNothing) {
  { OutputFile file("-J", (folder_ / "out.json").string()); }
  EXPECT_EQ(files(), 0U);
}

TEST_F(OutputFileTest, AWrongPathIsAnErrorAtOnce) {
  EXPECT_THROW(OutputFile("-J", (folder_ / "no" / "such" / "out.json").string()), UsageError);
  EXPECT_THROW(OutputFile("-J", folder_.string()), UsageError);
  EXPECT_NO_THROW(OutputFile("-J", "").write("nowhere"));
}

TEST(Machine, ThisOneIsKnown) {
  const Machine machine = this_machine();
  EXPECT_FALSE(machine.cpu.empty());
  EXPECT_GE(machine.cpus, 1);
  EXPECT_TRUE(machine.kernel.starts_with("Linux ")) << machine.kernel;
  EXPECT_TRUE(machine.memory.ends_with(" GiB")) << machine.memory;
}

TEST(CommandLine, IsQuotedForAShell) {
  EXPECT_EQ(quoted_words({"./a", "-n", "8"}), "./a -n 8");
  EXPECT_EQ(quoted_words({"a b", "", "it's", "$X"}), "'a b' '' 'it'\\''s' '$X'");
  EXPECT_NE(own_command_line().find("apps_test"), std::string::npos);
}

TEST(Memory, EnoughMemoryChangesNothing) {
  const MemoryPlan plan = plan_memory(8, 1000, 2, 10000);
  EXPECT_EQ(plan.last, 1000U);
  EXPECT_EQ(plan.note, "");
}

TEST(Memory, TooMuchIsCutAndExplained) {
  const MemoryPlan plan = plan_memory(8, std::size_t{8} << 30, 2, 1000000);
  EXPECT_EQ(plan.last, 400000U);  // four fifths, in two buffers
  EXPECT_EQ(
      plan.note,
      "-e 8G is cut to 400000 bytes: 2 buffers of 8G take 17179869184 bytes on each rank, and 1000000 bytes a rank "
      "are available");
}

TEST(Memory, NotEvenTheFirstSizeIsAnError) {
  try {
    plan_memory(1U << 20, 2U << 20, 2, 1000);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_memory);
    EXPECT_NE(std::string(error.what()).find("take 2097152 bytes"), std::string::npos) << error.what();
  }
}

TEST(Memory, ThisHostHasSome) { EXPECT_GT(available_memory(), std::size_t{1} << 20); }

}  // namespace
}  // namespace godwit::apps
