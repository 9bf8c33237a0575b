#include "collectives/problem.hpp"

#include "collectives/schedule.hpp"

#include <gtest/gtest.h>

namespace godwit::collectives {
namespace {

TEST(Part, CoversTheWholeInOrderWithSizesThatDifferByAtMostOne) {
  for (std::uint64_t count : {0ULL, 1ULL, 5ULL, 17ULL, 1000ULL, 1ULL << 62})
    for (int parts : {1, 2, 3, 16, 300}) {
      std::uint64_t end = 0;
      for (int i = 0; i < parts; ++i) {
        const Range range = part(count, parts, i);
        EXPECT_EQ(range.begin, end);
        EXPECT_GE(range.size(), count / static_cast<std::uint64_t>(parts));
        EXPECT_LE(range.size(), count / static_cast<std::uint64_t>(parts) + 1);
        end = range.end;
      }
      EXPECT_EQ(end, count);
    }
}

TEST(Log2, RoundsUp) {
  EXPECT_EQ(log2_ceil(1), 0);
  EXPECT_EQ(log2_ceil(2), 1);
  EXPECT_EQ(log2_ceil(3), 2);
  EXPECT_EQ(log2_ceil(8), 3);
  EXPECT_EQ(log2_ceil(9), 4);
}

TEST(Canonical, GivesOneNameToEachElementInPlace) {
  Problem problem{.collective = Collective::allgather, .size = 4, .count = 10, .in_place = true};
  EXPECT_EQ(canonical(problem, 2, {Buffer::input, 3}), (Place{Buffer::output, 23}));
  EXPECT_EQ(canonical(problem, 2, {Buffer::output, 3}), (Place{Buffer::output, 3}));
  problem.collective = Collective::reduce_scatter;
  EXPECT_EQ(canonical(problem, 2, {Buffer::output, 3}), (Place{Buffer::input, 23}));
  problem.collective = Collective::allreduce;
  EXPECT_EQ(canonical(problem, 2, {Buffer::input, 3}), (Place{Buffer::output, 3}));
  EXPECT_EQ(canonical(problem, 2, {Buffer::scratch, 3}), (Place{Buffer::scratch, 3}));
  problem.in_place = false;
  EXPECT_EQ(canonical(problem, 2, {Buffer::input, 3}), (Place{Buffer::input, 3}));
}

}  // namespace
}  // namespace godwit::collectives
