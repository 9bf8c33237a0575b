// godwit::allocate and the registry behind it.
#include "core/segments.hpp"

#include "core/shared_memory.hpp"

#include <gtest/gtest.h>
#include <godwit/error.hpp>
#include <godwit/memory.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

namespace godwit::core {
namespace {

std::span<std::byte> as_bytes(void* pointer, std::size_t bytes) { return {static_cast<std::byte*>(pointer), bytes}; }

TEST(Allocate, ZeroedAlignedAndKnown) {
  for (const std::size_t bytes : {1UL, 63UL, 64UL, 4096UL, 524288UL, 524289UL, 2097152UL, 5000000UL}) {
    void* pointer = allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer) % 64, 0U);
    EXPECT_TRUE(std::ranges::all_of(as_bytes(pointer, bytes), [](std::byte b) { return b == std::byte{0}; }));
    const auto segment = segments::find(as_bytes(pointer, bytes));
    ASSERT_TRUE(segment);
    EXPECT_GE(static_cast<std::byte*>(pointer), segment->base);
    EXPECT_LE(static_cast<std::byte*>(pointer) + bytes, segment->base + segment->size);
    EXPECT_EQ(segments::size_of(segment->id), segment->size);
    std::memset(pointer, 0xff, bytes);
    deallocate(pointer);
  }
}

TEST(Allocate, NothingGivesAUniquePointer) {
  void* a = allocate(0);
  void* b = allocate(0);
  EXPECT_NE(a, nullptr);
  EXPECT_NE(a, b);
  deallocate(a);
  deallocate(b);
  deallocate(nullptr);
}

TEST(Allocate, ImpossibleSizesAreErrors) {
  EXPECT_THROW(allocate(static_cast<std::size_t>(-1)), std::bad_alloc);
  try {
    allocate(std::size_t{1} << 62);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_memory);
    EXPECT_GT(std::strlen(error.what()), 20U);
  }
}

TEST(Allocate, ForeignMemoryIsNotFound) {
  std::vector<std::byte> ordinary(100);
  EXPECT_FALSE(segments::find(ordinary));
  void* pointer = allocate(100);
  const auto segment = segments::find(as_bytes(pointer, 100));
  EXPECT_FALSE(segments::find(as_bytes(pointer, segment->size + 1))) << "reaches beyond the segment";
  deallocate(pointer);
}

// Random allocations of several threads never overlap, and come back zeroed when memory is used again.
TEST(Allocate, ManyFromThreads) {
  std::atomic<bool> intact{true};
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::pair<std::byte*, std::size_t>> mine;
    for (int i = 0; i < 2000; ++i) {
      if (mine.size() > 40 || (!mine.empty() && random() % 3 == 0)) {
        const std::size_t which = random() % mine.size();
        const auto [pointer, bytes] = mine[which];
        if (!std::all_of(pointer, pointer + bytes, [&](std::byte b) { return b == std::byte(seed); })) intact = false;
        deallocate(pointer);
        mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(which));
      } else {
        const std::size_t bytes = random() % 20 == 0 ? random() % 600000 : random() % 5000;
        auto* pointer = static_cast<std::byte*>(allocate(bytes));
        if (!std::all_of(pointer, pointer + bytes, [](std::byte b) { return b == std::byte{0}; })) intact = false;
        std::memset(pointer, static_cast<int>(seed), bytes);
        mine.emplace_back(pointer, bytes);
      }
    }
    for (const auto& [pointer, bytes] : mine) deallocate(pointer);
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(intact);
}

TEST(AllocateDeathTest, DoubleFreeIsCaught) {
  void* pointer = allocate(10);
  deallocate(pointer);
  EXPECT_DEATH(deallocate(pointer), "given back already");
  int variable = 0;
  EXPECT_DEATH(deallocate(&variable), "not from godwit::allocate");
}

TEST(Segments, AnotherMappingShowsTheSameBytes) {
  auto* words = static_cast<std::uint64_t*>(allocate(1 << 20));
  const auto segment = segments::find(as_bytes(words, 1 << 20));
  const SharedMemory mapping = SharedMemory::attach(segments::open(segment->id), segment->size, "test");
  const std::size_t offset = static_cast<std::size_t>(reinterpret_cast<std::byte*>(words) - segment->base);
  words[5] = 42;
  EXPECT_EQ(reinterpret_cast<std::uint64_t*>(mapping.data() + offset)[5], 42U);
  deallocate(words);
}

TEST(Segments, ReleaseIsAnnouncedOnce) {
  std::vector<std::uint64_t> released;
  auto token = segments::on_release([&](std::uint64_t id) { released.push_back(id); });
  void* pointer = allocate(3 << 20);
  const std::uint64_t id = segments::find(as_bytes(pointer, 1))->id;
  deallocate(pointer);
  EXPECT_EQ(released, std::vector{id});
  EXPECT_FALSE(segments::open(id));
  EXPECT_EQ(segments::size_of(id), 0U);
  token.reset();
  deallocate(allocate(3 << 20));
  EXPECT_EQ(released.size(), 1U);
}

TEST(Segments, DroppingTheTokenWaitsForACallUnderWay) {
  std::atomic<bool> entered = false;
  std::atomic<bool> left = false;
  auto token = segments::on_release([&](std::uint64_t) {
    entered = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    left = true;
  });
  std::thread giver([] { deallocate(allocate(3 << 20)); });
  while (!entered) std::this_thread::yield();
  token.reset();
  EXPECT_TRUE(left);
  giver.join();
}

}  // namespace
}  // namespace godwit::core
