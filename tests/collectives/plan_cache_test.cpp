#include "collectives/plan_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace godwit::collectives {
namespace {

Problem problem(std::uint64_t count) { return {.collective = Collective::allreduce, .size = 4, .count = count}; }

TEST(PlanCache, BuildsARepeatedShapeOnce) {
  PlanCache cache(4);
  int chosen = 0;
  const auto choose = [&](const Problem& p) -> const Algorithm& {
    ++chosen;
    for (const Algorithm* algorithm : algorithms())
      if (algorithm->collective == p.collective) return *algorithm;
    throw std::logic_error("none");
  };
  PlanCache::Entry& first = cache.get(problem(1), 0, choose);
  EXPECT_EQ(&cache.get(problem(1), 0, choose), &first);
  EXPECT_EQ(chosen, 1);
  Problem in_place = problem(1);
  in_place.in_place = true;
  EXPECT_NE(&cache.get(in_place, 0, choose), &first);
  EXPECT_EQ(chosen, 2);
}

TEST(PlanCache, TellsLengthsApartAndKeepsThem) {
  PlanCache cache(4);
  const auto choose = [](const Problem& p) -> const Algorithm& {
    return **std::ranges::find(algorithms(), p.collective, &Algorithm::collective);
  };
  const auto get = [&](std::vector<std::uint64_t> counts) -> PlanCache::Entry& {
    const BlockTable table{std::move(counts), {0, 10}};
    Problem p{.collective = Collective::allgatherv, .size = 2, .count = table.counts[0]};
    p.receives = {&table};
    return cache.get(p, 0, choose);
  };
  PlanCache::Entry& first = get({3, 4});
  EXPECT_NE(&get({3, 5}), &first);
  EXPECT_EQ(&get({3, 4}), &first);
  EXPECT_EQ(first.problem.receives->counts, (std::vector<std::uint64_t>{3, 4}));
}

TEST(PlanCache, DropsTheLeastRecentlyUsedThatNobodyRuns) {
  PlanCache cache(2);
  int chosen = 0;
  const auto choose = [&](const Problem&) -> const Algorithm& {
    ++chosen;
    return *algorithms()[4];
  };
  ++cache.get(problem(1), 0, choose).users;
  cache.get(problem(2), 0, choose);
  cache.get(problem(3), 0, choose);  // 2 goes, for 1 is in use
  EXPECT_EQ(cache.size(), 2U);
  chosen = 0;
  --cache.get(problem(1), 0, choose).users;
  EXPECT_EQ(chosen, 0);
  cache.get(problem(2), 0, choose);  // 3 goes
  EXPECT_EQ(chosen, 1);
  cache.get(problem(1), 0, choose);
  EXPECT_EQ(chosen, 1);
}

}  // namespace
}  // namespace godwit::collectives
