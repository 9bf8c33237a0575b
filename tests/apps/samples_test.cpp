#include "common/samples.hpp"

#include <gtest/gtest.h>

namespace godwit::apps {
namespace {

TEST(Samples, SummaryOfAll) {
  Samples samples(1000);
  for (std::uint64_t i = 1000; i >= 1; --i) samples.add(i);
  const Summary summary = samples.summary(0.5);
  EXPECT_EQ(summary.min, 0.5);
  EXPECT_EQ(summary.median, 250.25);
  EXPECT_EQ(summary.average, 250.25);
  EXPECT_EQ(summary.p99, 495);
  ASSERT_TRUE(summary.tails);
  EXPECT_EQ(summary.tails->max, 500);
  EXPECT_EQ(summary.tails->p99_9, 499.5);
  EXPECT_NEAR(summary.tails->deviation, 144.337, 0.001);  // sqrt((n^2 - 1) / 12), halved
  EXPECT_EQ(samples.kept().front(), 1000U);
}

TEST(Samples, MemoryIsBoundedAndTheExtremesStay) {
  Samples samples(10, 8);
  constexpr std::uint64_t n = 1000;
  for (std::uint64_t i = 0; i < n; ++i) samples.add(i == 501 ? 1'000'000 : i + 10);
  samples.add(1);
  EXPECT_LE(samples.kept().size(), 8U);
  EXPECT_GE(samples.kept().size(), 4U);
  EXPECT_EQ(samples.count(), 1001);
  const Summary summary = samples.summary(1);
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.tails->max, 1'000'000);
  // What is kept is spread evenly.
  const std::uint64_t step = samples.kept()[1] - samples.kept()[0];
  for (std::size_t i = 1; i < samples.kept().size(); ++i)
    EXPECT_EQ(samples.kept()[i] - samples.kept()[i - 1], step) << i;
}

TEST(Samples, None) {
  const Summary summary = Samples(0).summary(1);
  EXPECT_EQ(summary.median, 0);
  EXPECT_FALSE(summary.tails);
}

TEST(Statistics, PercentileByNearestRank) {
  const std::vector<double> sorted = {1, 2, 3, 4};
  EXPECT_EQ(percentile(sorted, 0), 1);
  EXPECT_EQ(percentile(sorted, 0.5), 2);
  EXPECT_EQ(percentile(sorted, 0.51), 3);
  EXPECT_EQ(percentile(sorted, 1), 4);
  EXPECT_EQ(percentile({}, 0.5), 0);
  EXPECT_EQ(standard_deviation({}), 0);
}

}  // namespace
}  // namespace godwit::apps
