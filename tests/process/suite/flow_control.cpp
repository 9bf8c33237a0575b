// A rank that is slow to receive: its memory stays bounded, the senders are held back, nothing is lost.
#include "harness.hpp"

#include <chrono>
#include <fstream>
#include <string>

namespace suite {
namespace {

/// Resident memory of this process in bytes.
std::size_t resident() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6)) * 1024;
  return 0;
}

/// Everybody sends `count` messages of `bytes` to rank 0, which for two seconds only makes progress.
void flood(std::size_t bytes, int count) {
  if (size() == 1) GTEST_SKIP() << "needs a sender";
  if (rank() != 0) {
    const std::vector<std::byte> out = pattern(bytes, static_cast<std::uint64_t>(rank()));
    for (int i = 0; i < count; ++i) world().send(out, 0, i);
    world().barrier();
    return;
  }
  const std::size_t before = resident();
  std::size_t most = before;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 1000; ++i) context().progress();
    most = std::max(most, resident());
  }
  const auto offered = bytes * static_cast<std::size_t>(count);
  if (!sanitized) {
    EXPECT_LT(most - before, offered / 2) << "per sender; " << offered << " bytes were offered by each";
  }
  std::vector<std::byte> in(bytes);
  std::vector<int> next(static_cast<std::size_t>(size()));
  for (int i = 0; i < count * (size() - 1); ++i) {
    const godwit::MessageInfo info = world().recv(in);
    ASSERT_EQ(info.size, bytes);
    ASSERT_EQ(info.tag, next[static_cast<std::size_t>(info.source)]++);
    ASSERT_EQ(first_wrong(in, static_cast<std::uint64_t>(info.source)), std::nullopt);
  }
  world().barrier();
}

TEST(FlowControl, SmallMessages) { flood(1000, 30000); }
TEST(FlowControl, MediumMessages) { flood(30000, 2000); }

TEST(FlowControl, OthersAreServedWhileOneFloods) {
  if (size() < 3) GTEST_SKIP() << "needs three ranks";
  // Rank 1 floods rank 0, which does not receive that; ranks 0 and 2 talk all the while.
  constexpr int count = 20000;
  if (rank() == 1) {
    const std::vector<std::byte> out = pattern(2000, 1);
    for (int i = 0; i < count; ++i) world().send(out, 0, 1);
  } else if (rank() == 2) {
    int value = 0;
    for (int i = 0; i < 500; ++i) {
      world().send(i, 0, 2);
      world().recv(value, 0, 2);
      ASSERT_EQ(value, i);
    }
  } else if (rank() == 0) {
    int value = 0;
    for (int i = 0; i < 500; ++i) {
      world().recv(value, 2, 2);
      world().send(value, 2, 2);
    }
    std::vector<std::byte> in(2000);
    for (int i = 0; i < count; ++i) world().recv(in, 1, 1);
    EXPECT_EQ(first_wrong(in, 1), std::nullopt);
  }
  world().barrier();
}

TEST(FlowControl, ActiveMessagesToABusyRank) {
  constexpr int count = 20000;
  godwit::Communicator comm = world().dup();
  int handled = 0;
  comm.on_message(3, [&](const godwit::ActiveMessage&) { ++handled; });
  const std::vector<std::byte> out = pattern(1000, 1);
  for (int i = 0; i < count; ++i) comm.message(out, right(), 3).wait();
  while (handled < count) context().progress();
  EXPECT_EQ(handled, count);
  comm.barrier();
  comm.on_message(3, {});
}

}  // namespace
}  // namespace suite
