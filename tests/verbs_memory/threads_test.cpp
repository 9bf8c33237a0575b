// Threads unmap and map their memory again and hand it to the worker, which merges it with that of others.
#include "memory_api.hpp"

#include <thread>

namespace godwit::verbs {
namespace {

// The owner writes `wanted` and sees `done` follow: between the two the memory is the worker's.
struct Turn {
  std::atomic<std::uint32_t> wanted{0}, done{0};
  std::atomic<bool> over{false};
};

void own(Stage& stage, UnmapQueue& queue, Turn& turn, std::size_t first, std::size_t count, std::uint32_t rounds) {
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    const std::span<std::byte> memory = stage.pages.span(first, count);
    if (round % 4 != 0) {  // else it stays as it is, and may be found
      queue.push(reinterpret_cast<std::uintptr_t>(memory.data()), memory.size());
      for (std::size_t index = first; index < first + count; ++index) stage.pages.unmap(index);
      for (std::size_t index = first; index < first + count; ++index) stage.pages.map(index);
    }
    turn.wanted.store(round, std::memory_order_release);
    while (turn.done.load(std::memory_order_acquire) != round) std::this_thread::yield();
  }
  turn.over = true;
}

TEST(RegistrarThreads, NoStaleRegistrationIsFound) {
  constexpr std::size_t owners = 3, each = 4;
  Stage stage(owners * each + 64);
  UnmapQueue& queue = *stage.wire->queue;
  stage.touch(owners * each, 64);  // watched, so that the noise below is kept
  std::array<Turn, owners> turns;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < owners; ++i)
    threads.emplace_back([&, i] { own(stage, queue, turns[i], i * each, each, 3'000); });
  std::atomic<bool> stop{false};
  threads.emplace_back([&] {  // notices of memory that nobody transfers, until the queue overflows
    while (!stop) {
      for (int i = 0; i < 2'000; ++i)
        queue.push(reinterpret_cast<std::uintptr_t>(stage.pages.span(owners * each + 60, 1).data()), page);
      std::this_thread::yield();
    }
  });
  const auto running = [&] { return std::any_of(turns.begin(), turns.end(), [](Turn& turn) { return !turn.over; }); };
  while (running()) {
    for (std::size_t i = 0; i < owners; ++i) {
      const std::uint32_t round = turns[i].wanted.load(std::memory_order_acquire);
      if (round == turns[i].done.load(std::memory_order_relaxed)) continue;
      const Registered* registered = stage.registrar->acquire(stage.pages.span(i * each, each), full_access);
      // Pages of others may go while we register them together: then ours are registered alone.
      if (registered == nullptr)
        ADD_FAILURE() << stage.registrar->failure().message();
      else
        EXPECT_TRUE(stage.api.reaches(*registered, stage.pages.span(i * each, each)));
      if (registered != nullptr) stage.registrar->release(registered);
      turns[i].done.store(round, std::memory_order_release);
    }
    std::this_thread::yield();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(stage.statistics().invalidations, 100U);
}

}  // namespace
}  // namespace godwit::verbs
