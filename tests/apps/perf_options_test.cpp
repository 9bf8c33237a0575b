#include "tool/perf/options.hpp"

#include "common/cli.hpp"
#include "common/usage.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace godwit::apps {
namespace {

PerfOptions parse(std::vector<std::string> words) {
  CLI::App app;
  PerfWords texts;
  add_perf_flags(app, texts);
  parse_command_line(app, words);
  return perf_options(texts);
}

std::string usage_error(const std::vector<std::string>& words) {
  try {
    parse(words);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(PerfOptions, DefaultsPerTest) {
  const PerfOptions send = parse({"send_lat"});
  EXPECT_EQ(send.test.measured, Measured::latency);
  EXPECT_EQ(send.sizes.range.first, 8U);
  EXPECT_EQ(send.sizes.range.last, 4U << 20);
  EXPECT_EQ(send.sizes.range.factor, 2U);
  EXPECT_EQ(send.memory, MemoryKind::host);
  EXPECT_EQ(send.thread_mode, ThreadMode::single);
  EXPECT_TRUE(send.one_pair());
  EXPECT_FALSE(send.connect);
  const PerfOptions atomic = parse({"atomic_lat"});
  EXPECT_EQ(atomic.sizes.range.first, 8U);
  EXPECT_EQ(atomic.sizes.range.last, 8U);
  EXPECT_EQ(parse({"msg_rate"}).test.measured, Measured::bandwidth);
  EXPECT_FALSE(parse({"msg_rate"}).one_pair());
}

TEST(PerfOptions, MemoryIsThatOfTheProgramsThatUseTheOperation) {
  for (const char* test : {"send_lat", "send_bw", "am_lat", "msg_rate", "wake_lat"})
    EXPECT_EQ(parse({test}).memory, MemoryKind::host) << test;
  for (const char* test : {"put_lat", "put_watch_lat", "put_bw", "get_lat", "get_bw", "atomic_lat"})
    EXPECT_EQ(parse({test}).memory, MemoryKind::shared) << test;
  EXPECT_EQ(parse({"put_lat", "--memory", "private"}).memory, MemoryKind::host);
  EXPECT_EQ(parse({"send_lat", "--memory", "shared"}).memory, MemoryKind::shared);
  EXPECT_NE(usage_error({"send_lat", "--memory", "device"}), "accepted");
}

TEST(PerfOptions, SizesFlags) {
  const PerfOptions stepped = parse({"put_bw", "-b", "1K", "-e", "4K", "-i", "1K"});
  EXPECT_EQ(stepped.sizes.range.factor, 1U);
  EXPECT_EQ(stepped.sizes.range.next(1024), 2048U);
  const PerfOptions large = parse({"send_bw", "-b", "64M"});
  EXPECT_EQ(large.sizes.range.last, 64U << 20);  // -b above the default of -e moves it
  EXPECT_EQ(parse({"send_lat", "-b", "0"}).sizes.smallest(), 0U);
  EXPECT_EQ(parse({"am_lat", "--sizes", "0,8,1M"}).sizes.list, (std::vector<std::size_t>{0, 8, 1U << 20}));
}

TEST(PerfOptions, IterationsShrinkForLargeSizesUnlessGiven) {
  const PerfOptions options = parse({"send_lat"});
  EXPECT_EQ(options.iterations_for(0), 10000);
  EXPECT_EQ(options.iterations_for(8), 10000);
  EXPECT_EQ(options.iterations_for(1U << 20), 256);
  EXPECT_EQ(options.iterations_for(std::size_t{1} << 30), 20);
  EXPECT_EQ(options.warmup_for(8), 1000);
  EXPECT_EQ(options.warmup_for(std::size_t{1} << 30), 2);
  EXPECT_EQ(parse({"send_bw"}).iterations_for(8), 100000);
  EXPECT_EQ(parse({"wake_lat"}).iterations_for(8), 20);
  EXPECT_EQ(parse({"send_lat", "-n", "5"}).iterations_for(8), 5);
  EXPECT_EQ(parse({"send_lat", "-n", "5", "-w", "7"}).warmup_for(8), 7);
  EXPECT_EQ(parse({"send_lat", "-w", "0"}).warmup_for(8), 0);
}

TEST(PerfOptions, ThreadsMeanThreadModeMultiple) {
  EXPECT_EQ(parse({"msg_rate", "-t", "4"}).threads, 4);
  EXPECT_EQ(parse({"msg_rate", "-t", "4"}).thread_mode, ThreadMode::multiple);
  EXPECT_EQ(parse({"msg_rate", "-t", "1"}).thread_mode, ThreadMode::single);
  EXPECT_EQ(parse({"put_lat", "--thread-mode", "multiple"}).thread_mode, ThreadMode::multiple);
  EXPECT_EQ(usage_error({"msg_rate", "-t", "4", "--thread-mode", "single"}),
            "-t 4: several threads need --thread-mode multiple");
  EXPECT_EQ(usage_error({"put_bw", "-t", "2"}), "put_bw: -t is for msg_rate and send_bw");
  EXPECT_EQ(usage_error({"send_lat", "-t", "2"}), "send_lat: -t is for msg_rate and send_bw");
  EXPECT_NE(usage_error({"msg_rate", "-t", "0"}), "accepted");
}

TEST(PerfOptions, FlagsOfSomeTestsOnly) {
  EXPECT_EQ(parse({"wake_lat"}).idle_ms, 1000);
  EXPECT_EQ(parse({"wake_lat", "--idle-ms", "0"}).idle_ms, 0);
  EXPECT_EQ(usage_error({"send_lat", "--idle-ms", "5"}), "send_lat: --idle-ms is for wake_lat");
  EXPECT_TRUE(parse({"am_lat", "--connect"}).connect);
  EXPECT_EQ(usage_error({"send_bw", "--connect"}),
            "send_bw: --connect is for the latency tests: all ranks of this one measure");
}

TEST(PerfOptions, Errors) {
  EXPECT_NE(usage_error({"send"}).find("perf send: no such test; there are send_lat"), std::string::npos);
  EXPECT_EQ(usage_error({"atomic_lat", "-b", "16"}), "atomic_lat: words have 4 or 8 bytes, not 16");
  EXPECT_EQ(usage_error({"atomic_lat", "--sizes", "8,0"}), "atomic_lat: words have 4 or 8 bytes, not 0");
  EXPECT_EQ(usage_error({"get_lat", "-b", "0"}), "get_lat: a get of 0 bytes measures nothing; begin with -b 1");
  EXPECT_EQ(usage_error({"put_watch_lat", "-b", "12"}),
            "put_watch_lat: the target watches the last word, so sizes are multiples of 8, not 12");
  EXPECT_EQ(usage_error({"put_watch_lat", "-b", "0"}),
            "put_watch_lat: the target watches the last word, so sizes are multiples of 8, not 0");
  EXPECT_NE(usage_error({"send_lat", "-b", "64", "-e", "8"}), "accepted");
  EXPECT_EQ(usage_error({"send_lat", "--sizes", "8", "-e", "64"}),
            "--sizes lists all sizes: leave out -b, -e, -i and -f");
  EXPECT_NE(usage_error({"send_lat", "--sizes", "8,many"}).find("--sizes many: not a size"), std::string::npos);
  EXPECT_EQ(usage_error({"atomic_lat", "-b", "4", "-e", "8"}), "accepted");
}

}  // namespace
}  // namespace godwit::apps
