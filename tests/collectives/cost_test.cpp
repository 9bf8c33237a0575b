// Costs are monotonic, and agree with what the schedules do.
#include "collectives/algorithm.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace godwit::collectives {
namespace {

class Costs : public testing::TestWithParam<const Algorithm*> {
 protected:
  static Problem problem(int size, std::uint64_t count) {
    return {.collective = GetParam()->collective, .size = size, .count = count, .type = DataType::float32};
  }
  static double price(const Problem& p) { return seconds(GetParam()->cost(p), LinkModel{}); }
};

TEST_P(Costs, GrowWithTheSize) {
  for (int size : {1, 2, 3, 5, 8, 64, 300}) {
    double before = 0;
    for (std::uint64_t count = 1; count < 1ULL << 32; count *= 2) {
      const Problem p = problem(size, count);
      if (!GetParam()->applies(p)) break;
      const double now = price(p);
      EXPECT_GE(now, before) << to_string(p);
      before = now;
    }
  }
}

TEST_P(Costs, GrowWithTheRanks) {
  for (std::uint64_t count : {std::uint64_t{1}, std::uint64_t{1} << 24}) {
    double before = 0;
    for (int size = 1; size <= 4096; size *= 2) {
      const double now = price(problem(size, count));
      EXPECT_GE(now, before * 0.999) << size << " ranks";
      before = now;
    }
  }
}

TEST_P(Costs, AreNothingForOneRank) {
  const Cost cost = GetParam()->cost(problem(1, 1000));
  EXPECT_EQ(cost.rounds, 0);
  EXPECT_EQ(cost.bytes, 0);
  EXPECT_EQ(cost.messages, 0);
  EXPECT_EQ(cost.reduced, 0);
}

// The busiest rank sends or receives the bytes of the formula (a tree's root in one go, so to say), and reduces as
// many.
TEST_P(Costs, AgreeWithTheSchedules) {
  for (int size : {2, 4, 16}) {
    const Problem p = problem(size, 1 << 20);
    if (!GetParam()->applies(p)) continue;
    double moved = 0, reduced = 0;
    for (Rank rank = 0; rank < size; ++rank) {
      double sent = 0, received = 0, result = 0;
      for (const Step& step : build(*GetParam(), p, rank).steps) {
        const auto bytes = static_cast<double>(step.count * p.element_size());
        if (step.kind == StepKind::send) sent += bytes;
        if (step.kind == StepKind::recv) received += bytes;
        if (step.kind == StepKind::reduce) result += bytes;
      }
      moved = std::max({moved, sent, received});
      reduced = std::max(reduced, result);
    }
    const Cost cost = GetParam()->cost(p);
    EXPECT_NEAR(cost.reduced, reduced, reduced * 0.01) << to_string(p);
    EXPECT_LE(moved, cost.bytes * 1.01 + 1) << to_string(p);
    EXPECT_GE(moved, cost.bytes * 0.45) << to_string(p);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Costs, testing::ValuesIn(algorithms().begin(), algorithms().end()), [](const auto& test) {
  return std::string(to_string(test.param->collective)) + "_" + std::string(test.param->name);
});

}  // namespace
}  // namespace godwit::collectives
