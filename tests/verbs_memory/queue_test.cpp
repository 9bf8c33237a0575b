// UnmapQueue: filters, order, overflow, many producers.
#include "memory_api.hpp"

#include <thread>
#include <utility>

namespace godwit::verbs {
namespace {

using Notices = std::vector<std::pair<std::uintptr_t, std::uintptr_t>>;

struct Queue : testing::Test {
  Queue() { queue.watch(0, UINTPTR_MAX); }
  Notices drain() {
    Notices notices;
    complete = queue.drain([&](std::uintptr_t begin, std::uintptr_t end) { notices.emplace_back(begin, end); });
    return notices;
  }
  UnmapQueue queue;
  bool complete = false;
};

TEST_F(Queue, GivesEachNoticeOnce) {
  EXPECT_FALSE(queue.changed());
  queue.push(100, 10);
  queue.push(200, 20);
  EXPECT_TRUE(queue.changed());
  EXPECT_EQ(drain(), (Notices{{100, 110}, {200, 220}}));
  EXPECT_TRUE(complete);
  EXPECT_FALSE(queue.changed());
  EXPECT_TRUE(drain().empty());
}

TEST_F(Queue, AnEndBehindTheAddressSpaceIsItsEnd) {
  queue.push(100, SIZE_MAX);
  EXPECT_EQ(drain(), (Notices{{100, UINTPTR_MAX}}));
}

TEST_F(Queue, KeepsOnlyWhatIsWatched) {
  queue.watch_nothing();
  queue.push(0, SIZE_MAX);
  EXPECT_FALSE(queue.changed());
  queue.watch(1000, 2000);
  queue.watch(3000, 4000);
  queue.push(900, 100);
  queue.push(4000, 100);
  EXPECT_FALSE(queue.changed());
  queue.push(900, 101);
  queue.push(3999, 1);
  EXPECT_EQ(drain(), (Notices{{900, 1001}, {3999, 4000}}));
}

TEST_F(Queue, SaysThatItWasTooSmall) {
  for (std::size_t i = 0; i < UnmapQueue::capacity; ++i) queue.push(i, 1);
  EXPECT_EQ(drain().size(), UnmapQueue::capacity);
  EXPECT_TRUE(complete);
  for (std::size_t i = 0; i <= UnmapQueue::capacity; ++i) queue.push(i, 1);
  EXPECT_EQ(drain().size(), UnmapQueue::capacity);
  EXPECT_FALSE(complete);
  EXPECT_TRUE(drain().empty());
  EXPECT_TRUE(complete);
  queue.push(7, 1);
  EXPECT_EQ(drain(), (Notices{{7, 8}}));
}

// What is unmapped because of a notice is queued, too.
TEST_F(Queue, TakesNoticesWhileItIsDrained) {
  queue.push(1, 1);
  EXPECT_TRUE(queue.drain([&](std::uintptr_t begin, std::uintptr_t) {
    if (begin == 1) queue.push(2, 1);
  }));
  EXPECT_TRUE(queue.changed());
  EXPECT_EQ(drain(), (Notices{{2, 3}}));
}

TEST_F(Queue, LosesNothingOfManyThreads) {
  constexpr int threads = 4;
  constexpr std::uintptr_t each = 50'000;
  std::atomic<int> running{threads};
  std::vector<std::thread> producers;
  for (int thread = 0; thread < threads; ++thread)
    producers.emplace_back([&, thread] {
      for (std::uintptr_t i = 0; i < each; ++i) queue.push((static_cast<std::uintptr_t>(thread) << 32) + i, 1);
      --running;
    });
  std::array<std::uintptr_t, threads> next{};  // each thread's come in its order
  std::uint64_t seen = 0, overflows = 0;
  bool last = false;
  while (!last) {
    last = running == 0;
    for (const auto& [begin, end] : drain()) {
      const auto thread = static_cast<std::size_t>(begin >> 32);
      const std::uintptr_t index = begin & 0xffffffffU;
      ASSERT_GE(index, next.at(thread)) << "out of order, or twice";
      ASSERT_EQ(end, begin + 1);
      next.at(thread) = index + 1;
      ++seen;
    }
    overflows += complete ? 0 : 1;
    std::this_thread::yield();
  }
  for (std::thread& producer : producers) producer.join();
  EXPECT_LE(seen, threads * each);
  if (overflows == 0) {
    EXPECT_EQ(seen, threads * each);
  }
  EXPECT_GT(seen, 0U);
}

}  // namespace
}  // namespace godwit::verbs
