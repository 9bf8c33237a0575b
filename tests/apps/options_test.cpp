#include "collective_perf/options.hpp"
#include "common/cli.hpp"
#include "common/usage.hpp"
#include "tool/perf/options.hpp"
#include "tool/run_options.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace godwit::apps {
namespace {

CollectiveOptions parse(std::vector<std::string> words) {
  return parse_collective_options(Benchmark::all_reduce, words);
}

std::string usage_error(const std::vector<std::string>& words) {
  try {
    parse(words);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(CollectiveOptions, DefaultsAreThoseOfNcclTests) {
  const CollectiveOptions options = parse({});
  EXPECT_EQ(options.sizes.first, 32U << 20);
  EXPECT_EQ(options.sizes.last, 32U << 20);
  EXPECT_EQ(options.sizes.step, 1U << 20);
  EXPECT_EQ(options.sizes.factor, 1U);
  EXPECT_EQ(options.iterations, 20);
  EXPECT_EQ(options.warmup, 1);
  EXPECT_EQ(options.aggregate, 1);
  EXPECT_EQ(options.checks, 1);
  EXPECT_EQ(options.blocking, Blocking::per_group);
  EXPECT_EQ(options.average, Average::mean);
  EXPECT_EQ(options.root, 0);
  EXPECT_EQ(options.types, std::vector{DataType::float32});
  EXPECT_EQ(options.ops, std::vector{ReduceOp::sum});
}

TEST(CollectiveOptions, TheUsualLine) {
  const CollectiveOptions options = parse({"-b", "8", "-e", "8G", "-f", "2", "-g", "1", "-c", "1"});
  EXPECT_EQ(options.sizes.first, 8U);
  EXPECT_EQ(options.sizes.last, std::size_t{8} << 30);
  EXPECT_EQ(options.sizes.factor, 2U);
}

TEST(CollectiveOptions, AllLetters) {
  const auto options = parse({"-b4K", "-e", "8K", "-i", "1K",     "-o", "prod", "-d", "bf16", "-r", "3",
                              "-n",   "7",  "-w", "2",  "-m",     "4",  "-c",   "0",  "-z",   "3",  "-u",
                              "1",    "-a", "2",  "-J", "x.json", "-t", "1",    "-p", "1",    "-N", "2"});
  EXPECT_EQ(options.sizes.first, 4096U);
  EXPECT_EQ(options.sizes.step, 1024U);
  EXPECT_EQ(options.ops, std::vector{ReduceOp::prod});
  EXPECT_EQ(options.types, std::vector{DataType::bfloat16});
  EXPECT_EQ(options.root, 3);
  EXPECT_EQ(options.iterations, 7);
  EXPECT_EQ(options.warmup, 2);
  EXPECT_EQ(options.aggregate, 4);
  EXPECT_EQ(options.cycles, 2);
  EXPECT_EQ(options.checks, 0);
  EXPECT_EQ(options.blocking, Blocking::barrier_untimed);
  EXPECT_EQ(options.average, Average::min);
  EXPECT_EQ(options.unalign, 1);
  EXPECT_EQ(options.json_file, "x.json");
}

TEST(CollectiveOptions, LongNames) {
  const auto options = parse({"--minbytes",
                              "8",
                              "--maxbytes=16",
                              "--stepfactor",
                              "2",
                              "--iters",
                              "3",
                              "--warmup_iters",
                              "0",
                              "--agg_iters",
                              "2",
                              "--check",
                              "2",
                              "--op",
                              "max",
                              "--datatype",
                              "half",
                              "--root",
                              "all",
                              "--blocking",
                              "1",
                              "--average",
                              "3",
                              "--unalign",
                              "3",
                              "--nthreads",
                              "1",
                              "--ngpus",
                              "1",
                              "--parallel_init",
                              "0"});
  EXPECT_EQ(options.sizes.last, 16U);
  EXPECT_EQ(options.root, std::nullopt);
  EXPECT_EQ(options.types, std::vector{DataType::float16});
  EXPECT_EQ(options.blocking, Blocking::barrier_per_call);
  EXPECT_EQ(options.average, Average::max);
}

TEST(CollectiveOptions, AllTypesAndOperations) {
  const CollectiveOptions options = parse({"-d", "all", "-o", "all"});
  EXPECT_EQ(options.types.size(), 12U);
  EXPECT_EQ(options.ops.size(), 5U);
}

TEST(CollectiveOptions, ErrorsSayWhatIsWrongAndWhatIsAccepted) {
  EXPECT_EQ(usage_error({"-b", "64", "-e", "8"}), "the sizes begin at 64 B (-b) and end before that, at 8 B (-e)");
  EXPECT_EQ(usage_error({"-o", "summ"}), "-o summ: no such reduction; accepted: sum, prod, min, max, avg, all");
  EXPECT_NE(usage_error({"-d", "fp8"}).find("-d fp8: no such element type; accepted: int8, uint8"), std::string::npos);
  EXPECT_EQ(usage_error({"-r", "1x"}), "-r 1x: not a rank; write a number from 0 on, or all");
  EXPECT_NE(usage_error({"-g", "8"}).find("-g 8: buffers are in host memory"), std::string::npos);
  EXPECT_NE(usage_error({"-t", "2"}).find("-t 2: a rank is a process here"), std::string::npos);
  EXPECT_NE(usage_error({"-G", "1"}).find("needs GPU memory"), std::string::npos);
  EXPECT_NE(usage_error({"-R", "2"}).find("needs GPU memory"), std::string::npos);
  EXPECT_NE(usage_error({"-C", "1"}).find("is not available"), std::string::npos);
  for (const std::vector<std::string>& bad : {std::vector<std::string>{"-n", "0"},
                                              {"-n", "x"},
                                              {"-m", "0"},
                                              {"-w", "-1"},
                                              {"-z", "4"},
                                              {"-a", "4"},
                                              {"-c", "-1"},
                                              {"-u", "-1"},
                                              {"-f", "0"},
                                              {"-i", "0", "-e", "64M"},
                                              {"--no-such-flag"},
                                              {"stray"},
                                              {"-b"}})
    EXPECT_NE(usage_error(bad), "accepted") << bad.front();
}

TEST(CollectiveOptions, ZeroSwitchesOfGpuFlagsAreAccepted) {
  EXPECT_EQ(usage_error({"-G", "0", "-y", "0", "-R", "0", "-C", "0"}), "accepted");
}

TEST(CollectiveOptions, HelpIsNotAnError) {
  try {
    parse({"-h"});
    FAIL() << "went on";
  } catch (const TextRequested& text) {
    EXPECT_NE(std::string(text.what()).find("--stepfactor"), std::string::npos);
  }
  EXPECT_THROW(parse({"--version"}), TextRequested);
}

pmi::LaunchOptions parse_run(const std::vector<std::string>& words) {
  CLI::App app;
  pmi::LaunchOptions options;
  CLI::App* run = app.add_subcommand("run");
  add_run_flags(*run, options);
  std::vector<std::string> all = {"run"};
  all.insert(all.end(), words.begin(), words.end());
  const auto after_dashes = cut_at_dashes(all);
  parse_command_line(app, all);
  complete_run_options(options, run->remaining(), after_dashes);
  return options;
}

std::string run_error(const std::vector<std::string>& words) {
  try {
    parse_run(words);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(RunOptions, FlagsThenCommand) {
  const auto options = parse_run(
      {"-n", "4", "--keep-going", "--tag-output", "-x", "A=1", "-x", "B=x=y", "--", "./app", "-n", "7", "--", "-x"});
  EXPECT_EQ(options.ranks, 4);
  EXPECT_TRUE(options.keep_going);
  EXPECT_TRUE(options.tag_output);
  EXPECT_EQ(options.environment, (std::vector<std::string>{"A=1", "B=x=y"}));
  EXPECT_EQ(options.command, (std::vector<std::string>{"./app", "-n", "7", "--", "-x"}));
}

TEST(RunOptions, Binding) {
  EXPECT_EQ(parse_run({"--", "app"}).bind, pmi::Bind::none);
  EXPECT_FALSE(parse_run({"--", "app"}).report_bindings);
  EXPECT_EQ(parse_run({"--bind", "none", "--", "app"}).bind, pmi::Bind::none);
  EXPECT_EQ(parse_run({"--bind", "core", "app"}).bind, pmi::Bind::core);
  EXPECT_EQ(parse_run({"--bind=numa", "app"}).bind, pmi::Bind::numa);
  EXPECT_TRUE(parse_run({"--report-bindings", "app"}).report_bindings);
  EXPECT_EQ(run_error({"--bind", "socket", "--", "app"}), "run --bind socket: write none, core or numa");
}

TEST(RunOptions, DashesAreNotNeeded) {
  const auto options = parse_run({"-n", "2", "/bin/app", "-n", "7", "--help"});
  EXPECT_EQ(options.ranks, 2);
  EXPECT_EQ(options.command, (std::vector<std::string>{"/bin/app", "-n", "7", "--help"}));
  EXPECT_EQ(parse_run({"--", "app"}).ranks, 1);
}

TEST(RunOptions, CommandsNamedLikeSubcommandsOrFlagsStayTheirs) {
  EXPECT_EQ(parse_run({"-n", "2", "--", "run", "-n", "3"}).command, (std::vector<std::string>{"run", "-n", "3"}));
}

TEST(RunOptions, Errors) {
  EXPECT_EQ(run_error({"-n", "0", "--", "app"}), "run -n 0: at least one rank is needed");
  EXPECT_EQ(run_error({"-n", "-3", "--", "app"}), "run -n -3: at least one rank is needed");
  EXPECT_EQ(run_error({"-n", "2"}), "run: no program; write godwit run -n 4 -- ./app");
  EXPECT_EQ(run_error({"-n", "2", "--"}), "run: no program; write godwit run -n 4 -- ./app");
  EXPECT_EQ(run_error({"-x", "A", "--", "app"}), "run -x A: write NAME=VALUE");
  EXPECT_EQ(run_error({"-x", "=1", "--", "app"}), "run -x =1: write NAME=VALUE");
  EXPECT_NE(run_error({"-n", "two", "--", "app"}), "accepted");
  EXPECT_NE(run_error({"--keep-on", "--", "app"}), "accepted");
  EXPECT_NE(run_error({"stray", "--", "app"}), "accepted");
}

}  // namespace
}  // namespace godwit::apps
