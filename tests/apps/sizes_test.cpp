#include "common/sizes.hpp"
#include "common/usage.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace godwit::apps {
namespace {

std::vector<std::size_t> all(const SizeRange& range, std::size_t unit = 1) {
  std::vector<std::size_t> sizes;
  for (std::optional<std::size_t> size = range.first; size; size = range.next(*size, unit)) sizes.push_back(*size);
  return sizes;
}

using Sizes = std::vector<std::size_t>;

TEST(Sizes, FactorHitsTheLastSize) { EXPECT_EQ(all({.first = 8, .last = 64, .factor = 2}), (Sizes{8, 16, 32, 64})); }
TEST(Sizes, FactorStopsBeforeASizeThatIsNotHit) {
  EXPECT_EQ(all({.first = 7, .last = 100, .factor = 3}), (Sizes{7, 21, 63}));
}
TEST(Sizes, OddStep) {
  EXPECT_EQ(all({.first = 16373696, .last = 16373708, .step = 5}), (Sizes{16373696, 16373701, 16373706}));
}
TEST(Sizes, StepCountsWhenFactorIsOne) {
  EXPECT_EQ(all({.first = 0, .last = 8, .step = 4, .factor = 1}), (Sizes{0, 4, 8}));
}
TEST(Sizes, FactorAboveOneBeatsStep) {
  EXPECT_EQ(all({.first = 8, .last = 32, .step = 1, .factor = 2}), (Sizes{8, 16, 32}));
}
TEST(Sizes, OneSize) { EXPECT_EQ(all({.first = 5, .last = 5, .step = 0, .factor = 1}), (Sizes{5})); }
TEST(Sizes, ZeroGoesOnWithOneElement) {
  EXPECT_EQ(all({.first = 0, .last = 16, .factor = 2}, 4), (Sizes{0, 4, 8, 16}));
}
TEST(Sizes, NoOverflowAtTheEnd) {
  const SizeRange by_factor{.first = SIZE_MAX / 2 + 2, .last = SIZE_MAX, .factor = 2};
  EXPECT_EQ(by_factor.next(by_factor.first), std::nullopt);
  const SizeRange by_step{.first = 0, .last = SIZE_MAX, .step = 10, .factor = 1};
  EXPECT_EQ(by_step.next(SIZE_MAX - 5), std::nullopt);
}

TEST(Sizes, LargestIsTheLastOne) {
  for (const SizeRange& range : {SizeRange{.first = 8, .last = 100, .factor = 2}, SizeRange{.first = 7, .last = 7},
                                 SizeRange{.first = 3, .last = 50, .step = 4, .factor = 1},
                                 SizeRange{.first = 5, .last = 5, .step = 0, .factor = 1}})
    EXPECT_EQ(range.largest(), all(range).back());
}

TEST(Sizes, LargestIsEnoughForEveryElementAfterZero) {
  const SizeRange range{.first = 0, .last = 24, .factor = 3};
  for (std::size_t unit : {1, 2, 4, 8}) EXPECT_LE(all(range, unit).back(), range.largest());
}

TEST(Sizes, ChecksRefuseSweepsThatCannotWork) {
  EXPECT_THROW((SizeRange{.first = 16, .last = 8}.check()), UsageError);
  EXPECT_THROW((SizeRange{.first = 8, .last = 16, .step = 0, .factor = 1}.check()), UsageError);
  EXPECT_THROW((SizeRange{.first = 8, .last = 16, .factor = 0}.check()), UsageError);
  EXPECT_NO_THROW((SizeRange{.first = 8, .last = 8, .step = 0, .factor = 1}.check()));
}

TEST(Sizes, FlagGrammar) {
  EXPECT_EQ(parse_size_flag("-b", "8"), 8U);
  EXPECT_EQ(parse_size_flag("-b", "4K"), 4096U);
  EXPECT_EQ(parse_size_flag("-e", "64M"), std::size_t{64} << 20);
  EXPECT_EQ(parse_size_flag("-e", "8G"), std::size_t{8} << 30);
  for (const char* bad : {"", "-8", "8X", "G", "1e6x", "8 8"})
    EXPECT_THROW(parse_size_flag("-e", bad), UsageError) << bad;
}

TEST(Sizes, FlagErrorNamesFlagAndValue) {
  try {
    parse_size_flag("-e", "many");
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "-e many: not a size; write 8, 4K, 64M or 8G (powers of 1024)");
  }
}

std::vector<std::size_t> visited(const SizeSweep& sweep) {
  std::vector<std::size_t> sizes;
  sweep.for_each([&sizes](std::size_t size) { sizes.push_back(size); });
  return sizes;
}

TEST(SizeSweep, RangeFromZero) {
  const SizeSweep sweep{.range = {.first = 0, .last = 9, .step = 1, .factor = 2}};
  EXPECT_EQ(visited(sweep), (std::vector<std::size_t>{0, 1, 2, 4, 8}));
  EXPECT_EQ(sweep.smallest(), 0U);
  EXPECT_EQ(sweep.last(), 9U);
}

TEST(SizeSweep, AListKeepsItsOrderAndIsNotARange) {
  SizeSweep sweep{.range = {}, .list = parse_size_list("--sizes", "4K,0,8,8")};
  EXPECT_EQ(visited(sweep), (std::vector<std::size_t>{4096, 0, 8, 8}));
  EXPECT_EQ(sweep.smallest(), 0U);
  EXPECT_EQ(sweep.largest(), 4096U);
  EXPECT_EQ(sweep.last(), 4096U);
  sweep.cut(100);
  EXPECT_EQ(visited(sweep), (std::vector<std::size_t>{0, 8, 8}));
}

TEST(SizeSweep, ARangeIsCutToo) {
  SizeSweep sweep{.range = {.first = 8, .last = 64, .step = 1, .factor = 2}};
  sweep.cut(31);
  EXPECT_EQ(visited(sweep), (std::vector<std::size_t>{8, 16}));
  sweep.cut(1000);
  EXPECT_EQ(sweep.last(), 31U);
}

TEST(SizeSweep, BadListsNameTheFlagAndTheWord) {
  for (const char* bad : {"", ",", "8,", "8,,16", "8;16", "8 ,16", "-1", "1e3"}) try {
      parse_size_list("--sizes", bad);
      ADD_FAILURE() << "accepted '" << bad << "'";
    } catch (const UsageError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("--sizes ")) << error.what();
    }
}

}  // namespace
}  // namespace godwit::apps
