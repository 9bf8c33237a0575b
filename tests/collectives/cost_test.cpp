// Costs are monotonic, and agree with what the schedules do.
#include "collectives/algorithm.hpp"
#include "collectives/walk.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include <cmath>
#include <string>
#include <vector>

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
  if (!GetParam()->applies(problem(1, 1000))) return;
  const Cost cost = GetParam()->cost(problem(1, 1000));
  EXPECT_EQ(cost.rounds, 0);
  EXPECT_EQ(cost.bytes, 0);
  EXPECT_EQ(cost.messages, 0);
  EXPECT_EQ(cost.reduced, 0);
}

// The busiest rank sends or receives the bytes of the formula (a tree's root in one go, so to say), and reduces as
// many.
TEST_P(Costs, AgreeWithTheSchedules) {
  for (const NodeShape shape : {NodeShape{1, 2}, NodeShape{1, 4}, NodeShape{1, 16}, NodeShape{2, 2}, NodeShape{4, 4}}) {
    const int size = shape.nodes * shape.ranks_per_node;
    Problem p = problem(size, 1 << 20);
    p.shape = shape;
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

/// The longest chain of messages that wait for each other, for messages that need no answer.
class Chain : public WalkObserver {
 public:
  explicit Chain(std::span<const Plan> plans) : plans_(plans) {
    for (const Plan& plan : plans) ends_.emplace_back(plan.size(), 0);
  }
  void local(Rank rank, StepIndex step) override { end(rank, step) = before(rank, step); }
  void transfer(Rank from, StepIndex send, Rank to, StepIndex recv) override {
    end(from, send) = before(from, send);
    end(to, recv) = std::max(before(to, recv), end(from, send) + 1);
    longest_ = std::max(longest_, end(to, recv));
  }
  bool stop() const override { return false; }
  int longest() const { return longest_; }

 private:
  int& end(Rank rank, StepIndex step) { return ends_[static_cast<std::size_t>(rank)][step]; }
  int before(Rank rank, StepIndex step) {
    int latest = 0;
    const Schedule& schedule = plans_[static_cast<std::size_t>(rank)].schedule();
    for (const StepIndex dependency : schedule.dependencies_of(schedule.steps[step]))
      latest = std::max(latest, end(rank, dependency));
    return latest;
  }

  std::span<const Plan> plans_;
  std::vector<std::vector<int>> ends_;
  int longest_ = 0;
};

// Messages wait for each other as often as the formula says; a formula for any number of ranks may be above.
TEST_P(Costs, CountTheRounds) {
  for (const NodeShape shape : {NodeShape{1, 2}, NodeShape{1, 5}, NodeShape{1, 8}, NodeShape{1, 16}, NodeShape{1, 24},
                                NodeShape{2, 2}, NodeShape{4, 4}, NodeShape{3, 5}}) {
    Problem p = problem(shape.nodes * shape.ranks_per_node, 48);
    p.shape = shape;
    if (!GetParam()->applies(p)) continue;
    std::vector<Plan> plans;
    double messages = 0;
    for (Rank rank = 0; rank < p.size; ++rank) {
      plans.emplace_back(build(*GetParam(), p, rank));
      messages += static_cast<double>(std::ranges::count(plans.back().schedule().steps, StepKind::send, &Step::kind));
    }
    Chain chain(plans);
    ASSERT_EQ(walk(plans, chain), "");
    const Cost cost = GetParam()->cost(p);
    EXPECT_LE(chain.longest(), cost.rounds) << to_string(p) << ", " << shape.nodes << " nodes";
    EXPECT_GE(chain.longest(), cost.rounds * 0.5) << to_string(p) << ", " << shape.nodes << " nodes";
    // The mean, and what one rank sends one after the other on top of it.
    EXPECT_LE(messages / p.size, cost.messages * 2) << to_string(p);
  }
}

TEST(NearAndFar, ArePricedByTheirLinks) {
  const LinkModel near{.latency_s = 1, .overhead_s = 0, .bandwidth_Bps = 10};
  const LinkModel far{.latency_s = 100, .overhead_s = 0, .bandwidth_Bps = 1};
  EXPECT_DOUBLE_EQ(seconds({.rounds = 3, .bytes = 50, .near_rounds = 2, .near_bytes = 20}, near, far),
                   2 + 100 + 2 + 30);
  EXPECT_DOUBLE_EQ(seconds({.rounds = 3, .bytes = 50, .sharing = 4}, near, far), 300 + 200) << "one adapter for 4";
}

INSTANTIATE_TEST_SUITE_P(All, Costs, testing::ValuesIn(algorithms().begin(), algorithms().end()), [](const auto& test) {
  return std::string(to_string(test.param->collective)) + "_" + std::string(test.param->name);
});

}  // namespace
}  // namespace godwit::collectives
