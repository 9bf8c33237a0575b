// Windows and regions: put, get, notifications, atomics, flush, fence.
#include "harness.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace suite {
namespace {

using godwit::Atomics;
using godwit::ErrorCode;
using godwit::RegionOptions;
using godwit::Request;
using godwit::Window;

using Bytes = std::vector<std::byte>;
using SharedBytes = godwit::shared_vector<std::byte>;

template <class Memory>
class OneSided : public testing::Test {};
using Memories = testing::Types<Bytes, SharedBytes>;
TYPED_TEST_SUITE(OneSided, Memories);

TYPED_TEST(OneSided, PutFlushGetOfManySizes) {
  TypeParam memory(3 << 20);
  Window<std::byte> window = world().window(memory);
  for (const std::size_t bytes : interesting_sizes(1 << 20)) {
    const std::size_t offset = bytes % 61;
    const Bytes out = pattern(bytes, bytes);
    window.put(out, right(), offset).wait();
    window.flush(right());
    Guarded back(bytes);
    window.get(back.data(), right(), offset).wait();
    ASSERT_EQ(first_wrong(back.data(), bytes), std::nullopt) << bytes << " bytes";
    ASSERT_TRUE(back.intact()) << bytes << " bytes";
  }
  window.free();
}

TYPED_TEST(OneSided, NotificationComesAfterThePayload) {
  TypeParam memory(1 << 20);
  Window<std::byte> window = world().window(memory);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{8}, std::size_t{4097}, std::size_t{1} << 20}) {
    const Bytes out = pattern(bytes, bytes);
    Request put = window.put(out, right(), 0, {.notify = 7});
    window.wait_notify(7);
    EXPECT_EQ(first_wrong(std::span(memory).first(bytes), bytes), std::nullopt) << bytes << " bytes";
    EXPECT_FALSE(window.test_notify(7));
    put.wait();
    world().barrier();  // my right neighbour has looked; the next put may overwrite
  }
  window.free();
}

TYPED_TEST(OneSided, NotificationCoversEarlierPuts) {
  TypeParam memory(64 * 1024);
  Window<std::byte> window = world().window(memory);
  const Bytes out = pattern(memory.size(), 1);
  std::vector<Request> puts;
  for (std::size_t i = 0; i < 64; ++i)
    puts.push_back(window.put(std::span(out).subspan(i * 1024, 1024), right(), i * 1024));
  Request last = window.put_bytes(nullptr, 0, right(), 0, {.notify = 1});
  window.wait_notify(1);
  EXPECT_EQ(first_wrong(memory, 1), std::nullopt);
  godwit::wait_all(puts);
  last.wait();
  window.free();
}

TYPED_TEST(OneSided, NotificationsCount) {
  TypeParam memory(64);
  Window<std::byte> window = world().window(memory);
  std::vector<Request> puts;
  for (int to = 0; to < size(); ++to)
    for (int i = 0; i < 10; ++i) puts.push_back(window.put_bytes(nullptr, 0, to, 0, {.notify = 65535}));
  window.wait_notify(65535, static_cast<std::uint64_t>(10 * size()));
  EXPECT_FALSE(window.test_notify(65535));
  godwit::wait_all(puts);
  window.free();
}

TYPED_TEST(OneSided, LaterPutAfterAFenceWins) {
  TypeParam memory(1 << 18);
  Window<std::byte> window = world().window(memory);
  const Bytes first = pattern(memory.size(), 1), second = pattern(memory.size(), 2);
  for (int round = 0; round < 20; ++round) {
    Request one = window.put(first, right());
    window.fence();
    Request two = window.put(second, right(), 0, {.notify = 2});
    window.wait_notify(2);
    ASSERT_EQ(first_wrong(memory, 2), std::nullopt) << "round " << round;
    godwit::wait_all(one, two);
    world().barrier();
  }
  window.free();
}

TYPED_TEST(OneSided, EveryRankPutsAndGetsEverywhere) {
  constexpr std::size_t slot = 5000;
  const auto n = static_cast<std::size_t>(size());
  TypeParam memory(slot * n);
  Window<std::byte> window = world().window(memory);
  const Bytes out = pattern(slot, static_cast<std::uint64_t>(rank()));
  std::vector<Request> puts;
  for (int to = 0; to < size(); ++to) puts.push_back(window.put(out, to, slot * static_cast<std::size_t>(rank())));
  godwit::wait_all(puts);
  window.flush_all();
  world().barrier();
  for (std::size_t from = 0; from < n; ++from)
    EXPECT_EQ(first_wrong(std::span(memory).subspan(slot * from, slot), from), std::nullopt);
  Bytes in(slot);
  for (int at = 0; at < size(); ++at) {
    window.get(in, at, slot * static_cast<std::size_t>(left())).wait();
    EXPECT_EQ(first_wrong(in, static_cast<std::uint64_t>(left())), std::nullopt);
  }
  window.free();
}

template <class Word>
void check_fetch_add(const RegionOptions& options = {}) {
  constexpr int per_rank = 200;
  godwit::shared_vector<Word> memory(4);
  Window<Word> window = world().window(memory, options);
  std::vector<Word> mine;
  for (int i = 0; i < per_rank; ++i) mine.push_back(window.fetch_add(1, 0, 3));
  EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
  std::vector<Word> all(mine.size() * static_cast<std::size_t>(size()));
  world().allgather(mine, all);
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<Word>(i));
  EXPECT_EQ(window.fetch_add(0, 0, 3), static_cast<Word>(all.size()));
  window.free();
}

TEST(Atomics, FetchAddReturnsEachValueOnce64) { check_fetch_add<std::uint64_t>(); }
TEST(Atomics, FetchAddReturnsEachValueOnce32) { check_fetch_add<std::uint32_t>(); }

TEST(Atomics, FetchAddOnPrivateMemoryWrapsAround) {
  std::vector<std::uint64_t> memory{~std::uint64_t{0} - 1};
  Window<std::uint64_t> window = world().window(memory);
  EXPECT_EQ(window.fetch_add(3, right()), ~std::uint64_t{0} - 1);
  EXPECT_EQ(window.fetch_add(0, right()), 1U);
  window.free();
}

template <class Word>
void check_lock(const RegionOptions& options = {}) {
  constexpr int per_rank = 50;
  godwit::shared_vector<Word> memory(2);  // lock, counter
  Window<Word> window = world().window(memory, options);
  for (int i = 0; i < per_rank; ++i) {
    while (window.compare_swap(0, static_cast<Word>(rank() + 1), 0, 0) != 0) {
    }
    Word counter = 0;
    window.get(counter, 0, 1).wait();
    ++counter;
    window.put(counter, 0, 1).wait();
    window.flush(0);
    ASSERT_EQ(window.compare_swap(static_cast<Word>(rank() + 1), 0, 0, 0), static_cast<Word>(rank() + 1));
  }
  world().barrier();
  Word counter = 0;
  window.get(counter, 0, 1).wait();
  EXPECT_EQ(counter, static_cast<Word>(per_rank * size()));
  window.free();
}

TEST(Atomics, CompareSwapLockGuardsACounter64) { check_lock<std::uint64_t>(); }
TEST(Atomics, CompareSwapLockGuardsACounter32) { check_lock<std::int32_t>(); }

// Where the owner has no adapter with atomics they are the target's.
const RegionOptions by_adapter{.atomics = Atomics::adapter};

TEST(AtomicsByAdapters, FetchAddReturnsEachValueOnce64) { check_fetch_add<std::uint64_t>(by_adapter); }
TEST(AtomicsByAdapters, FetchAddReturnsEachValueOnce32) { check_fetch_add<std::uint32_t>(by_adapter); }
TEST(AtomicsByAdapters, CompareSwapLockGuardsACounter64) { check_lock<std::uint64_t>(by_adapter); }

TEST(AtomicsByAdapters, TheDomainIsTheOwners) {
  const bool is_mine = rank() == 0;
  std::vector<std::uint64_t> memory(1);
  Window<std::uint64_t> window = world().window(memory, {.atomics = is_mine ? Atomics::adapter : Atomics::target});
  for (int to = 1; to < size(); ++to) EXPECT_EQ(window.atomics(to), Atomics::target);
  std::uint8_t domain = static_cast<std::uint8_t>(window.atomics(0)), greatest = domain, least = domain;
  world().allreduce(greatest, godwit::max);
  world().allreduce(least, godwit::min);
  EXPECT_EQ(greatest, least) << "all see the same";
  const godwit::Region region = world().region(memory, by_adapter);
  EXPECT_TRUE(!is_mine || region.atomics() == window.atomics(0)) << "the same memory, the same adapter";
  EXPECT_EQ(error_of([&] { window.atomics(size()); }), ErrorCode::invalid_argument);
  for (int to = 0; to < size(); ++to) window.fetch_add(1, to);
  window.fence();
  world().barrier();
  EXPECT_EQ(memory[0], static_cast<std::uint64_t>(size()));
  window.free();
}

TEST(Regions, KeyIsAValueThatCanBeSent) {
  std::vector<int> memory(1000, -1);
  godwit::Region region = world().region(memory);
  godwit::RemoteKey key = region.key(), theirs;
  world().sendrecv(key, left(), theirs, right());  // theirs: key of my right neighbour
  std::vector<int> out(1000);
  std::iota(out.begin(), out.end(), rank());
  Request put = world().put_bytes(out.data(), 4000, theirs, 0, {.notify = 12});
  region.wait_notify(12);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(memory[static_cast<std::size_t>(i)], left() + i);
  put.wait();
  std::vector<int> back(10);
  world().get_bytes(back.data(), 40, theirs, 3960).wait();
  EXPECT_EQ(back.front(), rank() + 990);
  EXPECT_EQ(error_of([&] { world().get_bytes(back.data(), 40, theirs, 3964).wait(); }), ErrorCode::invalid_argument);
  world().barrier();  // nobody uses the keys any more
}

TEST(Windows, SizesMayDifferAndBoundsHold) {
  std::vector<std::uint64_t> memory(static_cast<std::size_t>(rank()));
  Window<std::uint64_t> window = world().window(memory);
  std::uint64_t value = 9, old = 0;
  for (int to = 0; to < size(); ++to) {
    const auto words = static_cast<std::size_t>(to);
    EXPECT_EQ(window.size(to), words * 8);
    if (words > 0) window.put(value, to, words - 1).wait();
    for (const std::size_t index : {words, ~std::size_t{0} / 8, ~std::size_t{0} / 16}) {
      EXPECT_EQ(error_of([&] { window.put(value, to, index).wait(); }), ErrorCode::invalid_argument);
      EXPECT_EQ(error_of([&] { window.get(value, to, index).wait(); }), ErrorCode::invalid_argument);
      EXPECT_EQ(error_of([&] { window.fetch_add(1, to, index); }), ErrorCode::invalid_argument);
    }
    const auto misaligned = [&] { window.fetch_add_bytes(1, &old, 8, to, 4).wait(); };
    const auto odd_width = [&] { window.fetch_add_bytes(1, &old, 2, to, 0).wait(); };
    EXPECT_EQ(error_of(misaligned), ErrorCode::invalid_argument);
    EXPECT_EQ(error_of(odd_width), ErrorCode::invalid_argument);
  }
  for (const int wrong : {-1, size(), 1 << 30})
    EXPECT_EQ(error_of([&] { window.put_bytes(nullptr, 0, wrong, 0).wait(); }), ErrorCode::invalid_argument);
  window.flush_all();
  window.free();
  expect_usable(world());
}

}  // namespace
}  // namespace suite
