#include "collectives/interval_map.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace godwit::collectives {
namespace {

TEST(IntervalMap, AgreesWithAnArray) {
  constexpr std::size_t length = 64;
  std::vector<int> array(length, 7);
  IntervalMap<int> map(7);
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const std::uint64_t begin = random() % length, end = begin + random() % (length - begin + 1);
    const int value = static_cast<int>(random() % 10);
    if (round % 2 == 0) {
      map.assign(begin, end, value);
      std::fill(array.begin() + static_cast<long>(begin), array.begin() + static_cast<long>(end), value);
    } else {
      map.for_each(begin, end, [](auto, auto, int& v) { ++v; });
      for (std::size_t i = begin; i < end; ++i) ++array[i];
    }
    std::vector<int> seen;
    const std::uint64_t from = random() % length;
    map.look(from, length, [&](std::uint64_t b, std::uint64_t e, int v) {
      EXPECT_EQ(b, from + seen.size());
      seen.insert(seen.end(), e - b, v);
    });
    ASSERT_EQ(seen, std::vector<int>(array.begin() + static_cast<long>(from), array.end()));
  }
}

}  // namespace
}  // namespace godwit::collectives
