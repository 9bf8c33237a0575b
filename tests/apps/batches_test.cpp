#include "common/batches.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace godwit::apps {
namespace {

/// Runs the loop with a clock that `each(i)` moves on for iteration i. Returns the lengths of the batches.
template <class Each>
std::vector<long> run(Batches& batches, Each each) {
  std::vector<long> lengths;
  double now = 0;
  while (const long batch = batches.next()) {
    for (long i = 0; i < batch; ++i) now += each(batches.done() + i);
    batches.ran(now);
    lengths.push_back(batch);
  }
  return lengths;
}

TEST(Batches, GrowUntilTheyTakeLongEnough) {
  Batches batches(1000, 20e-6);
  const std::vector<long> lengths = run(batches, [](long) { return 1e-6; });
  // 1 + 1 + 2 + 4 + 8 + 16 = 32 iterations are the first sample, then 32 at a time
  EXPECT_EQ(std::vector<long>(lengths.begin(), lengths.begin() + 8), (std::vector<long>{1, 1, 2, 4, 8, 16, 32, 32}));
  EXPECT_EQ(std::accumulate(lengths.begin(), lengths.end(), 0L), 1000);
  EXPECT_EQ(lengths.back(), 1000 % 32);
  EXPECT_EQ(batches.samples_s().size(), 1000U / 32U);
  for (const double sample : batches.samples_s()) EXPECT_NEAR(sample, 1e-6, 1e-12);
}

TEST(Batches, LongIterationsAreSamplesOfTheirOwn) {
  Batches batches(5, 20e-6);
  EXPECT_EQ(run(batches, [](long) { return 1e-3; }), (std::vector<long>(5, 1)));
  EXPECT_EQ(batches.samples_s().size(), 5U);
}

TEST(Batches, ASlowBeginningDoesNotKeepThemShort) {
  Batches batches(100000, 20e-6);
  const std::vector<long> lengths = run(batches, [](long i) { return i == 0 ? 1e-3 : 0.1e-6; });
  EXPECT_LT(lengths.size(), 100000U / 200U + 20U);  // few looks at the clock
  const Summary us = batches.summary(1e6);
  EXPECT_NEAR(us.median, 0.1, 1e-6);
  EXPECT_NEAR(us.average, (1e3 + 99999 * 0.1) / 100000, 1e-6);
}

TEST(Batches, TheAverageIsTheWholeLoop) {
  Batches batches(1000, 20e-6);
  run(batches, [](long i) { return i % 100 == 0 ? 50e-6 : 1e-6; });
  const Summary us = batches.summary(1e6);
  EXPECT_NEAR(us.average, (10 * 50.0 + 990) / 1000, 1e-9);
  EXPECT_LE(us.min, us.median);
  EXPECT_LE(us.median, us.p99);
}

TEST(Batches, WhatIsLeftOverCountsInTheAverageOnly) {
  Batches batches(3, 20e-6);
  run(batches, [](long i) { return i == 0 ? 30e-6 : 3e-6; });
  const Summary us = batches.summary(1e6);
  EXPECT_NEAR(us.p99, 30, 1e-9);
  EXPECT_NEAR(us.min, 30, 1e-9);
  EXPECT_NEAR(us.average, 12, 1e-9);
}

TEST(Batches, AShortLoopIsOneSample) {
  Batches batches(7, 20e-6);
  run(batches, [](long) { return 1e-6; });
  EXPECT_TRUE(batches.samples_s().empty());
  const Summary us = batches.summary(0.5e6);
  EXPECT_NEAR(us.min, 0.5, 1e-9);
  EXPECT_NEAR(us.median, 0.5, 1e-9);
  EXPECT_NEAR(us.p99, 0.5, 1e-9);
  EXPECT_NEAR(us.average, 0.5, 1e-9);
}

TEST(Batches, NoIterations) {
  const Batches batches(0);
  EXPECT_EQ(batches.next(), 0);
  EXPECT_EQ(batches.summary(1e6).average, 0);
}

TEST(Batches, AClockThatStandsStillEnds) {
  Batches batches(1 << 20, 20e-6);
  const std::vector<long> lengths = run(batches, [](long) { return 0.0; });
  EXPECT_EQ(lengths.size(), 21U);  // 1 + 1 + 2 + ... + 2^19
  EXPECT_EQ(batches.summary(1e6).median, 0);
}

}  // namespace
}  // namespace godwit::apps
