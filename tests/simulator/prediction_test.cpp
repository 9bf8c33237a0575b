// Folded and extrapolated predictions against runs of all ranks.
#include "machines.hpp"

#include <godwit/error.hpp>

#include <gtest/gtest.h>

#include <set>

namespace godwit::collectives::simulator {
namespace {

std::string where(const Algorithm& algorithm, const Problem& problem) {
  return to_string(problem) + " by " + std::string(algorithm.name);
}

Cluster two_levels(int nodes) {
  Cluster cluster = crowded(nodes);
  cluster.nodes_per_leaf = 4;
  cluster.oversubscription = 2;
  return cluster;
}

/// Folded runs of all algorithms that have a symmetry. Returns their names.
std::set<std::string> compare_folded(const Cluster& cluster, int ranks, std::uint64_t per_rank, double most_messages) {
  std::set<std::string> folded;
  for (const Algorithm* one : algorithms()) {
    const bool divided = one->collective == Collective::allreduce;
    const Problem problem =
        problem_of(one->collective, ranks, divided ? per_rank * static_cast<std::uint64_t>(ranks) : per_rank);
    if (!one->applies(placed(cluster, problem)) || one->cost(placed(cluster, problem)).messages > most_messages)
      continue;
    const auto few = run(cluster, *one, problem, true);
    if (!few) continue;
    folded.insert(std::string(to_string(one->collective)) + "_" + std::string(one->name));
    const double all = full(cluster, *one, problem);
    EXPECT_NEAR(few->outcome.seconds, all, all * 1e-6) << where(*one, problem);
    EXPECT_LT(few->symmetry.period, ranks);
  }
  return folded;
}

TEST(Folding, HoldsForSmallMessages) {
  const auto folded = compare_folded(crowded(16), 128, 1, 1e9);
  for (const char* name : {"allreduce_ring", "allreduce_recursive_doubling", "allreduce_rabenseifner", "allgather_ring",
                           "allgather_recursive_doubling", "reduce_scatter_ring", "reduce_scatter_recursive_halving",
                           "barrier_dissemination"})
    EXPECT_TRUE(folded.contains(name)) << name;
}

TEST(Folding, HoldsForLargeMessages) {
  const auto folded = compare_folded(crowded(16), 128, 3000, 1e9);
  for (const char* name : {"allreduce_ring", "allreduce_recursive_doubling", "allgather_ring", "reduce_scatter_ring"})
    EXPECT_TRUE(folded.contains(name)) << name;
  EXPECT_FALSE(folded.contains("allreduce_rabenseifner")) << "its chunks differ from rank to rank";
}

TEST(Folding, HoldsWithTwoLevelsOfSwitches) { EXPECT_GE(compare_folded(two_levels(16), 128, 500, 20).size(), 4U); }

TEST(Folding, HoldsFor1024Ranks) { EXPECT_GE(compare_folded(crowded(128), 1024, 4, 25).size(), 5U); }

// Fewer elements than ranks, and a number of them that the ranks do not divide: not a byte more than they have.
TEST(Folding, HoldsForOddCounts) {
  const Algorithm& doubling = algorithm(Collective::allreduce, "recursive_doubling");
  for (std::uint64_t count : {1, 100, 5001}) {
    const Problem problem = problem_of(Collective::allreduce, 128, count);
    const auto few = run(crowded(16), doubling, problem, true);
    ASSERT_TRUE(few) << count;
    const double all = full(crowded(16), doubling, problem);
    EXPECT_NEAR(few->outcome.seconds, all, all * 1e-6) << count;
  }
  for (const char* name : {"ring", "rabenseifner"})
    for (std::uint64_t count : {100, 5001}) {
      const Problem problem = problem_of(Collective::allreduce, 128, count);
      const auto few = run(crowded(16), algorithm(Collective::allreduce, name), problem, true);
      if (!few) continue;
      const double all = full(crowded(16), algorithm(Collective::allreduce, name), problem);
      EXPECT_NEAR(few->outcome.seconds, all, all * 0.04) << name << " " << count;
    }
}

TEST(Folding, NeedsASymmetry) {
  const Problem tree = problem_of(Collective::allreduce, 64, 100);
  EXPECT_FALSE(run(crowded(8), algorithm(Collective::allreduce, "binomial"), tree, true));
  const Problem odd = problem_of(Collective::allreduce, 60, 100);
  EXPECT_FALSE(run(crowded(8), algorithm(Collective::allreduce, "ring"), odd, true));
}

/// With less budget than a run of all ranks needs.
void compare_extrapolated(const Cluster& cluster, Collective collective, std::string_view name, int ranks,
                          std::uint64_t count, double budget, double tolerance) {
  const Algorithm& one = algorithm(collective, name);
  const Problem problem = problem_of(collective, ranks, count);
  const Prediction found = predict(cluster, one, problem, budget);
  EXPECT_EQ(found.method, Method::extrapolated) << where(one, problem);
  const double all = full(cluster, one, problem);
  EXPECT_NEAR(found.seconds, all, all * tolerance) << where(one, problem);
}

TEST(Extrapolation, OfRings) {
  compare_extrapolated(crowded(32), Collective::allreduce, "ring", 256, 256 * 1000, 5000, 0.01);
  compare_extrapolated(crowded(32), Collective::allgather, "ring", 256, 1000, 5000, 0.01);
  compare_extrapolated(two_levels(32), Collective::reduce_scatter, "ring", 256, 10, 15000, 0.02);
}

TEST(Extrapolation, OfChunks) {
  Cluster cluster = crowded(8);
  cluster.chunk_bytes = 16 * 1024;
  compare_extrapolated(cluster, Collective::allreduce, "binomial", 64, 1 << 20, 30000, 0.03);
  compare_extrapolated(cluster, Collective::broadcast, "binomial", 64, 1 << 20, 20000, 0.03);
  compare_extrapolated(cluster, Collective::allreduce, "recursive_doubling", 64, 1 << 20, 12000, 0.03);
}

TEST(Extrapolation, OfAChain) {
  Cluster cluster = crowded(32);
  cluster.chunk_bytes = 16 * 1024;
  compare_extrapolated(cluster, Collective::broadcast, "chain", 256, 1 << 17, 40000, 0.03);
}

TEST(Prediction, SaysWhenNothingStandsForTheWhole) {
  const Problem problem = problem_of(Collective::allreduce, 64, 100);
  try {
    predict(crowded(8), algorithm(Collective::allreduce, "binomial"), problem, 10);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_supported);
    EXPECT_NE(std::string(error.what()).find("allow more steps"), std::string::npos) << error.what();
  }
}

TEST(Prediction, RefusesMoreRanksThanThereAre) {
  try {
    predict(crowded(2), algorithm(Collective::barrier, "dissemination"), problem_of(Collective::barrier, 17, 0));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("17 ranks on cluster 'crowded', which has 2 nodes of 8 ranks"),
              std::string::npos)
        << error.what();
  }
}

TEST(Cluster, SaysWhichMemberIsWrong) {
  const auto complaint = [](auto spoil) -> std::string {
    Cluster cluster = crowded(2);
    spoil(cluster);
    try {
      check(cluster);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(complaint([](Cluster&) {}), "");
  EXPECT_EQ(complaint([](Cluster& c) { c.nodes = 0; }), "cluster: the number of nodes is 0; at least 1 is needed");
  EXPECT_EQ(complaint([](Cluster& c) { c.oversubscription = 0.5; }),
            "cluster: the oversubscription is 0.5; 1 or more is allowed");
  EXPECT_NE(complaint([](Cluster& c) { c.rails = 9; }).find("more rails than ranks per node"), std::string::npos);
  EXPECT_NE(complaint([](Cluster& c) { c.inside.bandwidth_Bps = 0; }).find("bandwidth of the link inside a node"),
            std::string::npos);
}

}  // namespace
}  // namespace godwit::collectives::simulator
