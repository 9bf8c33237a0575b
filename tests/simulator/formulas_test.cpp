// Without contention, a simulation gives what the formulas of the literature give: exactly, but for rounding.
#include "machines.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace godwit::collectives::simulator {
namespace {

constexpr double rounding = 1e-9;  // relative

void expect_near(double found, double formula, const std::string& where) {
  EXPECT_NEAR(found, formula, formula * rounding) << where;
}

class Formulas : public testing::TestWithParam<int> {
 protected:
  /// Seconds of `count` doubles per rank's vector, or per block where the collective counts blocks.
  double simulated(Collective collective, std::string_view name, std::uint64_t count) const {
    return full(plain(GetParam()), algorithm(collective, name), problem_of(collective, GetParam(), count));
  }
  double n() const { return GetParam(); }
  double rounds() const { return log2_ceil(GetParam()); }
  bool power_of_two() const { return power_of_two_below(GetParam()) == GetParam(); }
  std::string name() const { return "n = " + std::to_string(GetParam()); }
};

TEST_P(Formulas, Ring) {
  for (std::uint64_t block : {1, 1000, 100000}) {
    const double b = 8.0 * static_cast<double>(block), steps = n() - 1;
    const auto whole = block * static_cast<std::uint64_t>(GetParam());
    expect_near(simulated(Collective::allreduce, "ring", whole), 2 * steps * (alpha + b * beta) + steps * b * gamma_,
                name());
    expect_near(simulated(Collective::allgather, "ring", block), steps * (alpha + b * beta), name());
    expect_near(simulated(Collective::reduce_scatter, "ring", block), steps * (alpha + b * beta + b * gamma_), name());
  }
}

// Other rank counts have no such formula: ranks without a partner are ahead of the others, and overlap.
TEST_P(Formulas, RecursiveDoubling) {
  if (!power_of_two()) GTEST_SKIP() << "the formula is that of powers of two";
  for (std::uint64_t count : {1, 1000, 100000}) {
    const double m = 8.0 * static_cast<double>(count);
    expect_near(simulated(Collective::allreduce, "recursive_doubling", count),
                rounds() * (alpha + m * beta + m * gamma_), name());
  }
}

TEST_P(Formulas, Rabenseifner) {
  if (!power_of_two()) GTEST_SKIP() << "the formula is that of powers of two";
  const std::uint64_t count = 10000 * static_cast<std::uint64_t>(GetParam());
  const double half = 8.0 * static_cast<double>(count) * (n() - 1) / n();
  expect_near(simulated(Collective::allreduce, "rabenseifner", count),
              2 * rounds() * alpha + 2 * half * beta + half * gamma_, name());
}

// Each child of a node is one round later than the one before, so that nothing meets at the node's port.
TEST_P(Formulas, BinomialReduce) {
  if (!power_of_two()) GTEST_SKIP() << "the formula is that of powers of two";
  for (std::uint64_t count : {1, 1000, 100000}) {
    const double m = 8.0 * static_cast<double>(count);
    expect_near(simulated(Collective::reduce, "binomial", count), rounds() * (alpha + m * beta + m * gamma_), name());
  }
}

// A node sends to all its children at once, which share its port: with k children, they have it after k messages' time.
TEST_P(Formulas, BinomialBroadcast) {
  if (!power_of_two()) GTEST_SKIP() << "the formula is that of powers of two";
  for (std::uint64_t count : {1, 1000, 100000}) {
    const double m = 8.0 * static_cast<double>(count), k = rounds();
    expect_near(simulated(Collective::broadcast, "binomial", count), k * alpha + k * (k + 1) / 2 * m * beta, name());
  }
}

TEST_P(Formulas, BarrierWithOverhead) {
  constexpr double overhead = 0.3e-6;
  Cluster cluster = plain(GetParam());
  cluster.rail.overhead_s = overhead;
  cluster.hop_s = 0.2e-6;
  const double found =
      full(cluster, algorithm(Collective::barrier, "dissemination"), problem_of(Collective::barrier, GetParam(), 0));
  expect_near(found, rounds() * (2 * overhead + alpha + 0.2e-6), name());
}

INSTANTIATE_TEST_SUITE_P(Ranks, Formulas, testing::Values(2, 3, 4, 6, 8, 13, 16, 32, 64),
                         testing::PrintToStringParamName());

TEST(Simulation, PipelinesChunksAlongAChain) {
  constexpr int n = 8;
  constexpr std::uint64_t chunks = 20, chunk = 1000;
  Cluster cluster = plain(n);
  cluster.chunk_bytes = chunk * 8;
  const double c = 8.0 * chunk * beta;
  expect_near(
      full(cluster, algorithm(Collective::broadcast, "chain"), problem_of(Collective::broadcast, n, chunks * chunk)),
      (n - 1) * (alpha + c) + (chunks - 1) * c, "chain");
}

TEST(Simulation, RanksOfANodeShareItsAdapter) {
  Cluster cluster = plain(2);
  cluster.ranks_per_node = 4;
  constexpr std::uint64_t count = 1000;
  const double m = 8.0 * count;
  // Two rounds within the node are free here, the third crosses with all four ranks.
  cluster.inside = {};
  const Algorithm& doubling = algorithm(Collective::allreduce, "recursive_doubling");
  const Problem problem = problem_of(Collective::allreduce, 8, count);
  expect_near(full(cluster, doubling, problem), 3 * m * gamma_ + alpha + 4 * m * beta, "one rail");
  cluster.rails = 4;
  expect_near(full(cluster, doubling, problem), 3 * m * gamma_ + alpha + m * beta, "a rail for each");
  cluster.rail_use = RailUse::all;
  expect_near(full(cluster, doubling, problem), 3 * m * gamma_ + alpha + m * beta, "all rails for each");
}

TEST(Simulation, LeavesShareTheirWayUp) {
  Cluster cluster = plain(8);
  cluster.nodes_per_leaf = 4;
  cluster.oversubscription = 4;
  cluster.hop_s = 1e-7;
  constexpr std::uint64_t count = 1000;
  const double m = 8.0 * count;
  // Rounds at distance 1 and 2 stay in the leaf (one switch); at distance 4 four nodes share one's bandwidth.
  expect_near(full(cluster, algorithm(Collective::allreduce, "recursive_doubling"),
                   problem_of(Collective::allreduce, 8, count)),
              3 * (alpha + m * gamma_) + 2 * (1e-7 + m * beta) + 3e-7 + 4 * m * beta, "oversubscribed");
}

TEST(Simulation, LongMessagesWaitForTheirReceiveAndTheHandshake) {
  Cluster cluster = plain(2);
  cluster.handshake_s = 1e-5;
  const Problem problem = problem_of(Collective::broadcast, 2, 1000);
  const Algorithm& binomial = algorithm(Collective::broadcast, "binomial");
  cluster.eager_bytes = 8000;
  expect_near(full(cluster, binomial, problem), alpha + 8000 * beta, "eager");
  cluster.eager_bytes = 7999;
  expect_near(full(cluster, binomial, problem), 1e-5 + alpha + 8000 * beta, "after a handshake");
}

TEST(Simulation, ProcessorsThatCopyShareTheirTime) {
  Cluster cluster = plain(1);
  cluster.ranks_per_node = 2;
  cluster.mover = Mover::processors;
  cluster.inside = {.latency_s = alpha, .bandwidth_Bps = 1 / beta};
  const Algorithm& exchange = algorithm(Collective::allreduce, "recursive_doubling");
  const Problem problem = problem_of(Collective::allreduce, 2, 1000);
  // Each copies in for half of the time, and out for the other half.
  expect_near(full(cluster, exchange, problem), alpha + 8000 * beta + 8000 * gamma_, "eager");
  // Both messages need both processors: each runs at half the rate.
  cluster.eager_bytes = 0;
  cluster.joint_bytes = 8000;
  expect_near(full(cluster, exchange, problem), alpha + 2 * 8000 * beta + 8000 * gamma_, "copied by both");
  // The same with times that were measured, a message of 8000 bytes being between two of them.
  cluster.inside_times = {{0, alpha}, {4000, alpha + 2000 * beta}, {16000, alpha + 14000 * beta}};
  expect_near(full(cluster, exchange, problem), alpha + 2 * 6000 * beta + 8000 * gamma_, "measured");
  cluster.joint_bytes = 8001;
  expect_near(full(cluster, exchange, problem), alpha + 6000 * beta + 8000 * gamma_, "copied by the receiver");
  cluster.eager_bytes = 8000;
  expect_near(full(cluster, exchange, problem), alpha + 6000 * beta + 8000 * gamma_, "measured, eager");
}

// Activities of the critical path follow each other without a gap, from the start to the end.
TEST(Simulation, TheCriticalPathAddsUp) {
  for (const Algorithm* one : algorithms()) {
    const Problem problem = placed(crowded(4), problem_of(one->collective, 32, 5000));
    if (!one->applies(problem)) continue;
    const auto result = run(crowded(4), *one, problem, false, true);
    const auto& activities = result->outcome.activities;
    double covered = 0, begin = result->outcome.seconds;
    for (std::uint32_t at = result->outcome.last; at != Activity::none; at = activities[at].cause) {
      EXPECT_NEAR(activities[at].end_s, begin, 1e-12) << one->name;
      begin = activities[at].begin_s;
      covered += activities[at].end_s - activities[at].begin_s;
    }
    EXPECT_EQ(begin, 0) << one->name;
    EXPECT_NEAR(covered, result->outcome.seconds, 1e-11) << one->name;
  }
}

}  // namespace
}  // namespace godwit::collectives::simulator
