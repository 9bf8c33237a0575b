// Every algorithm proven by the verifier: for each rank count, root, count, in place or not.
#include "algorithm_lists.hpp"
#include "collectives/verifier.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace godwit::collectives {
namespace {

std::string name_of(const Algorithm& algorithm) {
  return std::string(to_string(algorithm.collective)) + "_" + std::string(algorithm.name);
}

class Algorithms : public testing::TestWithParam<const Algorithm*> {
 protected:
  Problem problem(int size, std::uint64_t count) const {
    return {.collective = GetParam()->collective,
            .size = size,
            .count = count,
            .type = DataType::float32,
            .op = ReduceOp::sum,
            .root = 0,
            .in_place = false,
            .commutative = true,
            .shape = {1, size},
            .chunk_bytes = 256 * 1024};
  }

  /// Proves it, unless the algorithm does not apply.
  void prove(const Problem& p, std::uint32_t seed = 0) const {
    if (!GetParam()->applies(p)) return;
    EXPECT_EQ(verify(*GetParam(), p, seed), "") << to_string(p);
  }

  static std::set<Rank> roots(const Problem& p) {
    if (!p.rooted()) return {0};
    return {0, 1 % p.size, p.size / 2, p.size - 1};
  }
};

TEST_P(Algorithms, AreRightForFewRanks) {
  for (int size = 1; size <= 17; ++size) {
    const auto n = static_cast<std::uint64_t>(size);
    for (std::uint64_t count : std::set<std::uint64_t>{0, 1, 3, n - 1, n, n + 1, 1000})
      for (bool in_place : {false, true}) {
        Problem p = problem(size, count);
        p.in_place = in_place;
        for (Rank root : roots(p)) {
          p.root = root;
          prove(p);
        }
      }
  }
}

TEST_P(Algorithms, AreRightWhenCutIntoChunks) {
  for (int size = 1; size <= 9; ++size)
    for (std::uint64_t chunk : {1, 7, 100})
      for (bool in_place : {false, true}) {
        Problem p = problem(size, 50);
        p.chunk_bytes = chunk * p.element_size();
        p.in_place = in_place;
        p.root = size - 1;
        prove(p);
      }
}

TEST_P(Algorithms, AreRightForAverages) {
  for (int size = 1; size <= 9; ++size) {
    Problem p = problem(size, 20);
    p.op = ReduceOp::avg;
    prove(p);
    p.in_place = true;
    prove(p);
  }
}

TEST_P(Algorithms, AreRightInAnyOrderOfRanks) {
  Problem p = problem(13, 40);
  p.chunk_bytes = 64;
  p.root = 5;
  for (std::uint32_t seed = 0; seed < 20; ++seed) prove(p, seed);
}

TEST_P(Algorithms, KeepTheOrderOfRanksIfTheySaySo) {
  int proven = 0;
  for (int size = 1; size <= 17; ++size) {
    Problem p = problem(size, 5);
    p.commutative = false;
    proven += GetParam()->applies(p);
    prove(p);
  }
  if (GetParam()->applies == always) {
    EXPECT_EQ(proven, 17);
  }
}

// in_place is each rank's own affair: it may not change whom it talks to.
TEST_P(Algorithms, MeetWhenOnlySomeRanksWorkInPlace) {
  for (int size : {2, 5, 8}) {
    Problem p = problem(size, 12);
    p.chunk_bytes = 16;
    if (!GetParam()->applies(p)) continue;
    std::vector<Problem> problems;
    std::vector<Schedule> schedules;
    for (Rank rank = 0; rank < size; ++rank) {
      p.in_place = rank % 2 == 0;
      problems.push_back(p);
      schedules.push_back(build(*GetParam(), p, rank));
    }
    EXPECT_EQ(verify(problems, schedules), "") << to_string(p);
  }
}

// Counts beyond 2^32 bytes and elements only change offsets.
TEST_P(Algorithms, AreRightForHugeCounts) {
  Problem p = problem(3, (std::uint64_t{1} << 33) + 1);
  p.chunk_bytes = std::uint64_t{1} << 32;
  prove(p);
}

TEST_P(Algorithms, ScratchStaysBounded) {
  Problem p = problem(16, 1 << 20);
  if (!GetParam()->applies(p)) return;
  for (Rank rank = 0; rank < p.size; ++rank)
    EXPECT_LE(build(*GetParam(), p, rank).scratch_count, 3 * p.vector_count()) << rank;
}

INSTANTIATE_TEST_SUITE_P(All, Algorithms, testing::ValuesIn(even_algorithms()),
                         [](const auto& test) { return name_of(*test.param); });

TEST(AlgorithmList, EveryCollectiveHasOne) {
  std::set<Collective> covered;
  for (const Algorithm* algorithm : algorithms()) covered.insert(algorithm->collective);
  EXPECT_EQ(covered.size(), collective_count);
}

TEST(AlgorithmList, NamesAreUniqueInACollective) {
  std::set<std::string> names;
  for (const Algorithm* algorithm : algorithms()) EXPECT_TRUE(names.insert(name_of(*algorithm)).second);
}

}  // namespace
}  // namespace godwit::collectives
