// Lengths at and above 2^31 and 2^32 bytes. They need 12 GiB of memory: suite --large.
#include "harness.hpp"

#include <algorithm>

namespace suite {
namespace {

constexpr std::size_t two_gib = std::size_t{1} << 31;

class Large : public testing::Test {
 protected:
  void SetUp() override {
    if (!settings().large || size() < 2) GTEST_SKIP() << "needs --large and two ranks";
  }
};

// Exchanges between ranks 0 and 1 only.
void check_large(std::size_t bytes) {
  if (rank() == 0) {
    const std::vector<std::byte> out = pattern(bytes, bytes);
    world().send(out, 1, 1);
  } else if (rank() == 1) {
    std::vector<std::byte> in(bytes);
    EXPECT_EQ(world().recv(in, 0, 1).size, bytes);
    EXPECT_EQ(first_wrong(in, bytes), std::nullopt);
  }
}

TEST_F(Large, MessagesAroundTheLimitsOf32Bits) {
  for (const std::size_t bytes : {two_gib - 1, two_gib, two_gib + 1, 2 * two_gib - 1, 2 * two_gib + 1})
    check_large(bytes);
}

TEST_F(Large, PutAndGetAboveFourGiB) {
  const std::size_t bytes = 2 * two_gib + 1;
  std::vector<std::byte> memory(rank() == 1 ? bytes : 0);
  godwit::Window<std::byte> window = world().window(memory);
  if (rank() == 0) {
    std::vector<std::byte> data = pattern(bytes, 1);
    window.put(data, 1).wait();
    window.flush(1);
    std::fill(data.begin(), data.end(), std::byte{0});
    window.get(data, 1).wait();
    EXPECT_EQ(first_wrong(data, 1), std::nullopt);
  }
  window.free();
}

TEST_F(Large, AllreduceAboveTwoGiB) {
  std::vector<std::int8_t> data(two_gib + 1, 1);
  world().allreduce(data, godwit::sum);
  EXPECT_TRUE(std::all_of(data.begin(), data.end(), [](std::int8_t x) { return x == size(); }));
}

}  // namespace
}  // namespace suite
