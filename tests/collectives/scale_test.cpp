// Every algorithm proven for up to 4096 ranks: whole where that is quick, else by a sample of ranks. Building stays
// quick and small.
#include "algorithm_lists.hpp"
#include "collectives/verifier.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <vector>

namespace godwit::collectives {
namespace {

class Scale : public testing::TestWithParam<const Algorithm*> {
 protected:
  static Problem problem(int size, std::uint64_t count) {
    Problem p{.collective = GetParam()->collective, .size = size, .count = count, .type = DataType::float32};
    p.root = p.rooted() ? size / 3 : 0;
    p.shape = {(size + 7) / 8, 8};
    return p;
  }

  /// The proof of everything takes time and memory by steps and by pieces of buffers.
  static bool is_small(const Problem& p) {
    constexpr std::uint64_t most = 100'000;
    const std::uint64_t n = static_cast<std::uint64_t>(p.size);
    if (p.count != 0 && n * p.vector_count() / p.count > most) return false;
    const std::size_t steps =
        std::max(build(*GetParam(), p, 0).steps.size(), build(*GetParam(), p, p.size - 1).steps.size());
    return n * steps <= most;
  }

  static void prove(const Problem& p) {
    if (!GetParam()->applies(p)) return;
    if (is_small(p))
      EXPECT_EQ(verify(*GetParam(), p, 1), "") << to_string(p);
    else
      EXPECT_EQ(verify_sample(*GetParam(), p, {0, 1, p.root, p.size / 2, p.size - 2, p.size - 1}), "") << to_string(p);
  }
};

TEST_P(Scale, EveryNumberOfRanksUpTo64) {
  for (int size = 18; size <= 64; ++size) prove(problem(size, static_cast<std::uint64_t>(size % 4)));
}

TEST_P(Scale, FewHundredRanks) {
  for (int size : {100, 255, 256, 257}) prove(problem(size, 3));
}

TEST_P(Scale, ThousandsOfRanks) {
  for (int size : {1000, 1024, 4096}) prove(problem(size, 2));
}

// A sanitizer makes it slow; the goal is below 1 ms for a rank.
TEST_P(Scale, BuildingForThousandsOfRanksIsQuick) {
  const Problem p = problem(4096, 1);
  if (!GetParam()->applies(p)) return;
  const auto start = std::chrono::steady_clock::now();
  const Schedule schedule = build(*GetParam(), p, 1);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  RecordProperty("microseconds", std::to_string(took.count() * 1e6));
  EXPECT_LT(took.count(), 1.0);
  EXPECT_LE(schedule.steps.size(), 16U * 4096U) << "O(n) at most";
}

INSTANTIATE_TEST_SUITE_P(All, Scale, testing::ValuesIn(even_algorithms()), [](const auto& test) {
  return std::string(to_string(test.param->collective)) + "_" + std::string(test.param->name);
});

// The sample's own checks find what is planted.
class PlantedInSample : public testing::Test {
 protected:
  static void build_short(ScheduleBuilder& b) {  // rank 5 sends one element less
    if (b.rank() == 0) b.copy(b.input(), b.output(), b.count());
    for (Rank rank = 1; rank < b.size() && b.rank() == 0; ++rank) b.send(rank, b.output(), b.count());
    if (b.rank() != 0) b.recv(0, b.output(), b.rank() == 5 ? b.count() - 1 : b.count());
  }
  static void build_missing(ScheduleBuilder& b) {
    if (b.rank() == 0) b.send(1, b.input(), b.count());
  }
  static std::string sample(void (*steps)(ScheduleBuilder&), Rank rank) {
    const Algorithm algorithm{"planted", "", Collective::broadcast, always, nullptr, steps};
    const Problem p{.collective = Collective::broadcast, .size = 8, .count = 4};
    return verify_sample(algorithm, p, {rank});
  }
};

TEST_F(PlantedInSample, LengthsThatDiffer) {
  EXPECT_EQ(sample(build_short, 1), "");
  EXPECT_NE(sample(build_short, 5).find("nothing writes output [3..4)"), std::string::npos) << sample(build_short, 5);
}

TEST_F(PlantedInSample, MessagesThatNobodyExpects) {
  EXPECT_NE(sample(build_missing, 1).find("nothing writes output [0..4)"), std::string::npos);
  EXPECT_NE(sample(
                [](ScheduleBuilder& b) {
                  if (b.rank() == 0) b.copy(b.input(), b.output(), b.count());
                  build_missing(b);
                },
                0)
                .find("rank 0 sends 1 messages to rank 1, which expects 0"),
            std::string::npos);
}

}  // namespace
}  // namespace godwit::collectives
