// Columns that scripts made for perftest read.
#include "tool/perf/perftest_table.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace godwit::apps {
namespace {

std::vector<std::string> fields(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> all;
  for (std::string field; stream >> field;) all.push_back(field);
  return all;
}

TEST(PerftestTable, LatencyLine) {
  const PerftestRow row{.bytes = 2,
                        .iterations = 1000,
                        .min_us = 1.25,
                        .max_us = 17,
                        .typical_us = 1.5,
                        .average_us = 1.6254,
                        .deviation_us = 0.5,
                        .p99_us = 3,
                        .p99_9_us = 16};
  EXPECT_EQ(fields(perftest_line(Measured::latency, row)),
            (std::vector<std::string>{"2", "1000", "1.250", "17.000", "1.500", "1.625", "0.500", "3.000", "16.000"}));
  EXPECT_EQ(
      fields(perftest_columns(Measured::latency)),
      (std::vector<std::string>{"#bytes", "#iterations", "t_min[usec]", "t_max[usec]", "t_typical[usec]", "t_avg[usec]",
                                "t_stdev[usec]", "99%", "percentile[usec]", "99.9%", "percentile[usec]"}));
}

TEST(PerftestTable, LineOfBandwidthCountsInPowersOfTwo) {
  const PerftestRow row{.bytes = 65536,
                        .iterations = 5000,
                        .peak_Bps = 3.0 * 1024 * 1024,
                        .average_Bps = 2.5 * 1024 * 1024,
                        .operations_per_s = 40};
  EXPECT_EQ(fields(perftest_line(Measured::bandwidth, row)),
            (std::vector<std::string>{"65536", "5000", "3.00", "2.50", "0.000040"}));
  EXPECT_EQ(fields(perftest_columns(Measured::bandwidth)),
            (std::vector<std::string>{"#bytes", "#iterations", "BW", "peak[MB/sec]", "BW", "average[MB/sec]",
                                      "MsgRate[Mpps]"}));
}

TEST(PerftestTable, HeadingSaysWhatWasMeasuredOverWhat) {
  const PerftestFacts facts{.version = "0.1.0", .transport = "verbs", .lines = {"client: here", "server: there"}};
  PerfOptions options = perf_options({.test = "write_bw",
                                      .bidirectional = true,
                                      .depth = 16,
                                      .adapter = {.device = "mlx5_0", .port = 2, .gid_index = 3, .queue_pairs = 4}},
                                     false);
  const std::string text = perftest_heading(options, facts);
  for (const char* part : {"RDMA_Write Bidirectional BW Test\n", "Transport      : verbs\n", ": mlx5_0 port 2 ",
                           "Number of qps  : 4\n", "GID index      : 3\n", "TX depth        : 16 ", "client: here\n",
                           "server: there\n", "MB: 2^20 bytes", "both directions added up"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  options = perf_options({.test = "read_lat"});
  const std::string plain = perftest_heading(options, {.version = "0.1.0", .transport = "shm"});
  EXPECT_EQ(plain.find("GID index"), std::string::npos) << "there is no adapter\n" << plain;
  EXPECT_NE(plain.find("latency: until the data is there"), std::string::npos) << plain;
  EXPECT_NE(perftest_heading(perf_options({.test = "write_lat"}), facts).find("half a round trip"), std::string::npos);
}

TEST(PerftestTable, Samples) { EXPECT_EQ(sample_lines(std::vector<double>{1, 0.5}), "#, usec\n1, 1.000\n2, 0.500\n"); }

TEST(PerftestTable, ResultForTheFile) {
  const PerftestRow row{.bytes = 8, .iterations = 7, .peak_Bps = 2e6, .average_Bps = 1e6, .operations_per_s = 125000};
  const Result result = to_result(perf_options({.test = "write_bw"}), row);
  EXPECT_EQ(result.bandwidth_MBps, 1.0);
  EXPECT_EQ(result.bandwidth_peak_MBps, 2.0);
  EXPECT_EQ(result.messages_per_s, 125000.0);
  EXPECT_EQ(result.iterations, 7);
  EXPECT_EQ(result.wrong, 0U);
  EXPECT_FALSE(result.latency_us);
  const Result latency = to_result(perf_options({.test = "write_lat", .checks = 0}), {.bytes = 8, .typical_us = 3});
  EXPECT_EQ(latency.latency_us->median, 3);
  EXPECT_FALSE(latency.wrong);
}

}  // namespace
}  // namespace godwit::apps
