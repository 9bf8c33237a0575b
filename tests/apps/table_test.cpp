#include "common/table.hpp"
#include "common/progress.hpp"
#include "common/statistics.hpp"
#include "tool/perf/table.hpp"

#include <gtest/gtest.h>

namespace godwit::apps {
namespace {

TEST(Table, Heading) {
  EXPECT_EQ(table_heading(),
            "#                                                              out-of-place                       "
            "in-place            \n"
            "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   "
            "busbw  #wrong\n"
            "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  "
            "(GB/s)        \n");
}

TEST(Table, Lines) {
  EXPECT_EQ(table_line({.bytes = 8, .count = 2, .type = "float", .redop = "sum", .root = -1},
                       {.time_us = 1.234, .algbw_GBps = 0.0065, .busbw_GBps = 0.0097, .wrong = 0},
                       {.time_us = 12.5, .algbw_GBps = 1, .busbw_GBps = 1.5, .wrong = 3}),
            "           8             2     float     sum      -1     1.23    0.01    0.01       0    12.50    1.00    "
            "1.50       3");
  EXPECT_EQ(table_line({.bytes = 8589934592, .count = 1073741824, .type = "bfloat16", .redop = "none", .root = 15},
                       {.time_us = 1234567.8, .algbw_GBps = 123.456, .busbw_GBps = 1234.56},
                       {.time_us = 98765.43, .algbw_GBps = 12345.6, .busbw_GBps = 0}),
            "  8589934592    1073741824  bfloat16    none      15  1234568  123.46  1234.6     N/A  98765.4   12346    "
            "0.00     N/A");
}

TEST(Table, ColumnsOfHeadingAndLinesEndTogether) {
  const std::string heading = table_heading();
  const std::string second = heading.substr(heading.find('\n') + 1, heading.find('\n'));
  const std::string line = table_line({.bytes = 8, .type = "float"}, {}, {});
  EXPECT_EQ(second.size(), line.size());
}

TEST(Table, Footer) {
  EXPECT_EQ(table_footer(0, 1.5), "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 1.5\n#\n");
  EXPECT_EQ(table_footer(7, 0.123456789), "# Out of bounds values : 7 FAILED\n# Avg bus bandwidth    : 0.123457\n#\n");
}

TEST(Table, NumbersFitTheirColumn) {
  EXPECT_EQ(fitted(0, 7), "0.00");
  EXPECT_EQ(fitted(9999.994, 7), "9999.99");
  EXPECT_EQ(fitted(99999.99, 7), "100000");
  EXPECT_EQ(fitted(9999999, 7), "9999999");
  EXPECT_EQ(fitted(12345678, 7), "1.2e+07");
  EXPECT_EQ(fitted(1234567, 6), "1e+06");
  for (double value = 0.001; value < 1e12; value *= 3.7) {
    EXPECT_LE(fitted(value, 7).size(), 7U) << value;
    EXPECT_LE(fitted(value, 6).size(), 6U) << value;
  }
}

TEST(PerfTable, Lines) {
  EXPECT_EQ(perf_heading(Measured::latency),
            "#    size(B)  iterations     min(us)  median(us)     p99(us)     avg(us)   #wrong\n");
  EXPECT_EQ(
      perf_line(Measured::latency, 1000,
                {.size = 64, .latency_us = Summary{.min = 0.1, .median = 0.25, .p99 = 10, .average = 0.5}, .wrong = 0}),
      "          64        1000       0.100       0.250      10.000       0.500        0\n");
  EXPECT_EQ(perf_heading(Measured::bandwidth), "#    size(B)    messages        MB/s    messages/s   #wrong\n");
  EXPECT_EQ(
      perf_line(Measured::bandwidth, 1024, {.size = 1048576, .bandwidth_MBps = 12345.678, .messages_per_s = 11773.76}),
      "     1048576        1024    12345.68         11774      N/A\n");
  EXPECT_EQ(perf_heading(Measured::wake),
            "#    size(B)  iterations     min(us)  median(us)     p99(us)     avg(us)  CPU(%)   #wrong\n");
  EXPECT_EQ(perf_line(Measured::wake, 20,
                      {.size = 8,
                       .latency_us = Summary{.min = 30, .median = 50.5, .p99 = 60, .average = 52},
                       .waiting_cpu_percent = 1.25,
                       .wrong = 0}),
            "           8          20      30.000      50.500      60.000      52.000    1.25        0\n");
}

TEST(Statistics, Percentiles) {
  std::vector<double> none;
  EXPECT_EQ(summarize(none).median, 0);
  std::vector<double> odd = {3, 1, 2};
  EXPECT_EQ(summarize(odd).min, 1);
  EXPECT_EQ(summarize(odd).median, 2);
  EXPECT_EQ(summarize(odd).p99, 3);
  EXPECT_EQ(summarize(odd).average, 2);
  std::vector<double> hundred;
  for (int i = 100; i > 0; --i) hundred.push_back(i);
  EXPECT_EQ(summarize(hundred).median, 50.5);
  EXPECT_EQ(summarize(hundred).p99, 99);
  std::vector<double> one = {4};
  EXPECT_EQ(summarize(one).p99, 4);
}

TEST(Progress, Line) {
  EXPECT_EQ(progress_line(64U << 20, 3, 20, std::chrono::seconds(12)), "64M: iteration 3 of 20, 12 s");
}

}  // namespace
}  // namespace godwit::apps
