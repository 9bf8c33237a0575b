#include "tool/perf/options.hpp"

#include "common/cli.hpp"
#include "common/usage.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace godwit::apps {
namespace {

PerfOptions parse(std::vector<std::string> words, bool in_job = true) {
  CLI::App app;
  PerfWords texts;
  add_perf_flags(app, texts);
  parse_command_line(app, words);
  return perf_options(texts, in_job);
}

std::string usage_error(const std::vector<std::string>& words, bool in_job = true) {
  try {
    parse(words, in_job);
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

TEST(PerfOptions, AtomicsAreChosenByTypeAndByWhoExecutesThem) {
  EXPECT_FALSE(parse({"atomic_lat"}).atomic.swaps);
  EXPECT_EQ(parse({"atomic_lat"}).atomic.by, std::nullopt);
  EXPECT_FALSE(parse({"atomic_lat", "-A", "FETCH_AND_ADD"}).atomic.swaps);
  EXPECT_TRUE(parse({"atomic_lat", "-A", "CMP_AND_SWAP"}).atomic.swaps);
  EXPECT_EQ(parse({"atomic_lat", "--atomics", "target"}).atomic.by, Atomics::target);
  EXPECT_EQ(parse({"atomic_lat", "--atomics", "adapter"}).atomic.by, Atomics::adapter);
  EXPECT_NE(usage_error({"atomic_lat", "-A", "SWAP"}), "accepted");
  EXPECT_EQ(usage_error({"read_lat", "-A", "FETCH_AND_ADD"}), "read_lat: -A is for atomic_lat: which atomic");
  EXPECT_EQ(usage_error({"read_lat", "--atomics", "target"}),
            "read_lat: --atomics is for atomic_lat: who executes them");
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
  const PerfOptions stepped = parse({"put_bw", "--minbytes", "1K", "--maxbytes", "4K", "--stepbytes", "1K"});
  EXPECT_EQ(stepped.sizes.range.factor, 1U);
  EXPECT_EQ(stepped.sizes.range.next(1024), 2048U);
  const PerfOptions large = parse({"send_bw", "--minbytes", "64M"});
  EXPECT_EQ(large.sizes.range.last, 64U << 20);  // above the default of --maxbytes moves it
  EXPECT_EQ(parse({"send_lat", "--minbytes", "0"}).sizes.smallest(), 0U);
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
  EXPECT_EQ(parse({"msg_rate", "--threads", "4"}).threads, 4);
  EXPECT_EQ(parse({"msg_rate", "--threads", "4"}).thread_mode, ThreadMode::multiple);
  EXPECT_EQ(parse({"msg_rate", "--threads", "1"}).thread_mode, ThreadMode::single);
  EXPECT_EQ(parse({"put_lat", "--thread-mode", "multiple"}).thread_mode, ThreadMode::multiple);
  EXPECT_EQ(usage_error({"msg_rate", "--threads", "4", "--thread-mode", "single"}),
            "--threads 4: several threads need --thread-mode multiple");
  EXPECT_EQ(usage_error({"put_bw", "--threads", "2"}), "put_bw: --threads is for msg_rate and send_bw");
  EXPECT_EQ(usage_error({"send_lat", "--threads", "2"}), "send_lat: --threads is for msg_rate and send_bw");
  EXPECT_NE(usage_error({"msg_rate", "--threads", "0"}), "accepted");
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
  EXPECT_NE(usage_error({"send"}).find("perf send: no such test; there are write_lat"), std::string::npos);
  EXPECT_EQ(usage_error({"atomic_lat", "-s", "16"}), "atomic_lat: words have 4 or 8 bytes, not 16");
  EXPECT_EQ(usage_error({"atomic_lat", "--sizes", "8,0"}), "atomic_lat: words have 4 or 8 bytes, not 0");
  EXPECT_EQ(usage_error({"get_lat", "--minbytes", "0"}), "get_lat: a get of 0 bytes measures nothing; try -s 1");
  EXPECT_EQ(usage_error({"put_watch_lat", "-s", "12"}),
            "put_watch_lat: the target watches the last word, so sizes are multiples of 8, not 12");
  EXPECT_EQ(usage_error({"put_watch_lat", "-s", "0"}),
            "put_watch_lat: the target watches the last word, so sizes are multiples of 8, not 0");
  EXPECT_EQ(usage_error({"send_lat", "--minbytes", "64", "--maxbytes", "8"}),
            "the sizes begin at 64 B (--minbytes) and end before that, at 8 B (--maxbytes)");
  EXPECT_EQ(usage_error({"send_lat", "--sizes", "8", "--maxbytes", "64"}),
            "give sizes in one way: -s, -a, --sizes, or --minbytes with --maxbytes, --stepbytes, --stepfactor");
  EXPECT_NE(usage_error({"send_lat", "--sizes", "8,many"}).find("--sizes many: not a size"), std::string::npos);
  EXPECT_EQ(usage_error({"atomic_lat", "--minbytes", "4", "--maxbytes", "8"}), "accepted");
}

TEST(PerftestForm, IsChosenByTestAndLauncher) {
  for (const char* test : {"write_lat", "write_bw", "read_lat", "read_bw"}) {
    EXPECT_EQ(parse({test}, true).form, Form::perftest) << test;
    EXPECT_EQ(parse({test}, false).form, Form::perftest) << test;
    EXPECT_EQ(parse({test, "--table", "godwit"}, false).form, Form::own) << test;
  }
  for (const char* test : {"send_lat", "send_bw", "atomic_lat"}) {
    EXPECT_EQ(parse({test}, true).form, Form::own) << test;
    EXPECT_EQ(parse({test}, false).form, Form::perftest) << test;
    EXPECT_EQ(parse({test, "--table", "perftest"}, true).form, Form::perftest) << test;
  }
  EXPECT_EQ(parse({"put_lat"}, false).form, Form::own);
  EXPECT_EQ(usage_error({"put_lat", "--table", "perftest"}), "put_lat: perftest has no such test; leave --table out");
  EXPECT_EQ(parse({"send_lat", "node0"}, false).server, "node0");
  EXPECT_NE(usage_error({"send_lat", "node0"}, true).find("a server is named without a launcher only"),
            std::string::npos);
}

TEST(PerftestForm, DefaultsArePerftests) {
  const PerfOptions write = parse({"write_bw"});
  EXPECT_EQ(write.iterations_for(65536), 5000);
  EXPECT_EQ(write.depth, 128);
  EXPECT_EQ(write.post_list, 1);
  EXPECT_EQ(write.port, 18515);
  EXPECT_EQ(write.sizes.smallest(), 65536U);
  EXPECT_EQ(write.sizes.largest(), 65536U);
  EXPECT_TRUE(write.one_pair());
  const PerfOptions read = parse({"read_lat"});
  EXPECT_EQ(read.iterations_for(2), 1000);
  EXPECT_EQ(read.sizes.smallest(), 2U);
  EXPECT_EQ(parse({"atomic_lat"}, false).sizes.largest(), 8U);
  const PerfOptions all = parse({"read_bw", "-a"});
  EXPECT_EQ(all.sizes.smallest(), 2U);
  EXPECT_EQ(all.sizes.largest(), 8U << 20);
  EXPECT_EQ(parse({"write_lat", "-s", "4K"}).sizes.largest(), 4096U);
}

TEST(PerftestForm, FlagsMeanWhatTheyMeanToPerftest) {
  const PerfOptions options =
      parse({"write_bw", "-b", "-t", "64", "-l", "8", "-D", "2.5", "-F", "-c", "RC", "-p", "4711", "node0"}, false);
  EXPECT_TRUE(options.bidirectional);
  EXPECT_EQ(options.depth, 64);
  EXPECT_EQ(options.post_list, 8);
  EXPECT_EQ(options.duration_s, 2.5);
  EXPECT_EQ(options.port, 4711);
  EXPECT_EQ(options.server, "node0");
  const PerfOptions unsorted = parse({"write_lat", "-U"});
  EXPECT_TRUE(unsorted.each_sample && unsorted.unsorted);
  EXPECT_EQ(parse({"write_lat", "--out_json"}).json_file, "perftest_out.json");
  EXPECT_EQ(parse({"write_lat", "--out_json", "--out_json_file", "x"}).json_file, "x");
  EXPECT_EQ(usage_error({"write_bw", "-l", "4", "-t", "2"}), "-l 4: more than are in flight (-t 2)");
  EXPECT_EQ(usage_error({"write_lat", "-n", "5", "-D", "2"}), "-n and -D: give one of them");
  EXPECT_EQ(usage_error({"send_lat", "-D", "2"}),
            "send_lat: -D is for perftest's table (in flight: -t); add --table perftest");
  EXPECT_EQ(usage_error({"write_lat", "-s", "0"}),
            "write_lat: the target watches the last byte, so there must be one; try -s 1");
  EXPECT_NE(usage_error({"write_lat", "-p", "70000"}, false), "accepted");
  EXPECT_NE(usage_error({"write_lat", "-J", "a", "--out_json"}), "accepted");
}

TEST(PerftestForm, AdapterFlagsAreOptionsOfTheContext) {
  using Set = std::map<std::string, std::string>;
  const auto set = [](std::vector<std::string> words) {
    words.insert(words.begin(), "write_lat");
    return adapter_options(parse(words).adapter);
  };
  EXPECT_EQ(set({}), Set{});
  EXPECT_EQ(set({"-d", "mlx5_0"}), (Set{{"IB_HCA", "mlx5_0"}, {"TRANSPORTS", "verbs"}}));
  EXPECT_EQ(set({"-d", "mlx5_0,mlx5_1", "-i", "2"})["IB_HCA"], "mlx5_0:2,mlx5_1:2");
  EXPECT_EQ(set({"-x", "3", "-m", "1024", "-q", "4", "-I", "0", "-R"}), (Set{{"IB_GID_INDEX", "3"},
                                                                             {"IB_MTU", "1024"},
                                                                             {"IB_QPS_PER_PEER", "4"},
                                                                             {"IB_INLINE", "0"},
                                                                             {"IB_CONNECT", "rdmacm"},
                                                                             {"TRANSPORTS", "verbs"}}));
  EXPECT_NE(usage_error({"write_lat", "-i", "1"}).find("name the device with -d"), std::string::npos);
  EXPECT_NE(usage_error({"write_lat", "-d", "mlx5_0:1", "-i", "1"}).find("leave -i out"), std::string::npos);
}

}  // namespace
}  // namespace godwit::apps
