// RegionIndex against a search through all regions.
#include "memory_api.hpp"

#include <list>
#include <random>

namespace godwit::verbs {
namespace {

struct Index : testing::Test {
  Region& add(std::uintptr_t begin, std::uintptr_t end) {
    Region& region = regions.emplace_back();
    region.memory = span_of({begin, end});
    index.reserve();
    index.insert(region);
    return region;
  }
  RegionIndex index;
  std::list<Region> regions;
};

TEST_F(Index, FindsWhatHoldsAllOfIt) {
  EXPECT_EQ(index.find(1, 2), nullptr);
  Region& low = add(100, 200);
  Region& high = add(150, 300);
  EXPECT_EQ(index.find(100, 200), &low);
  EXPECT_EQ(index.find(149, 151), &low);
  EXPECT_EQ(index.find(150, 201), &high);
  EXPECT_EQ(index.find(299, 300), &high);
  EXPECT_EQ(index.find(149, 201), nullptr);
  EXPECT_EQ(index.find(99, 101), nullptr);
  EXPECT_EQ(index.find(299, 301), nullptr);
  index.erase(high);
  EXPECT_EQ(index.find(299, 300), nullptr) << "the one found last is forgotten, too";
  EXPECT_EQ(index.find(150, 160), &low);
}

TEST_F(Index, KnowsNeighbours) {
  Region& low = add(100, 200);
  Region& high = add(300, 400);
  EXPECT_EQ(index.before(100), nullptr);
  EXPECT_EQ(index.before(101), &low);
  EXPECT_EQ(index.before(500), &high);
  EXPECT_EQ(index.behind(400), nullptr);
  EXPECT_EQ(index.behind(399), &high);
  EXPECT_EQ(index.behind(200), &high);
  EXPECT_EQ(index.behind(0), &low);
  EXPECT_EQ(index.within(100, 200), &low);
  EXPECT_EQ(index.within(101, 399), nullptr);
  EXPECT_EQ(index.within(101, 400), &high);
  EXPECT_EQ(index.touching(200, 300), nullptr);
  EXPECT_EQ(index.touching(199, 300), &low);
  EXPECT_EQ(index.touching(200, 301), &high);
}

TEST_F(Index, AgreesWithASearchThroughAll) {
  std::mt19937 random(20261);
  const auto number = [&](std::uintptr_t least, std::uintptr_t most) {
    return std::uniform_int_distribution<std::uintptr_t>(least, most)(random);
  };
  for (int round = 0; round < 20'000; ++round) {
    const std::uintptr_t begin = number(0, 400), end = begin + number(1, 60);
    const auto holds = [&](const Region& each) { return each.begin() <= begin && end <= each.end(); };
    const auto inside = [&](const Region& each) { return begin <= each.begin() && each.end() <= end; };
    const auto touches = [&](const Region& each) { return each.begin() < end && begin < each.end(); };
    const Region* found = index.find(begin, end);
    ASSERT_EQ(found != nullptr, std::any_of(regions.begin(), regions.end(), holds));
    ASSERT_TRUE(found == nullptr || holds(*found));
    const Region* within = index.within(begin, end);
    ASSERT_EQ(within != nullptr, std::any_of(regions.begin(), regions.end(), inside));
    ASSERT_TRUE(within == nullptr || inside(*within));
    const Region* touching = index.touching(begin, end);
    ASSERT_EQ(touching != nullptr, std::any_of(regions.begin(), regions.end(), touches));
    ASSERT_TRUE(touching == nullptr || touches(*touching));
    if (found == nullptr && within == nullptr && regions.size() < 40) {
      add(begin, end);
    } else if (!regions.empty() && number(0, 3) == 0) {
      auto any = std::next(regions.begin(), static_cast<std::ptrdiff_t>(number(0, regions.size() - 1)));
      index.erase(*any);
      regions.erase(any);
    }
    ASSERT_EQ(index.size(), regions.size());
  }
}

}  // namespace
}  // namespace godwit::verbs
