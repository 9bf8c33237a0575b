// All 64-bit atomics on a region of the adapter's domain are executed by one adapter: its owner's.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "job.hpp"

namespace godwit::atomics_test {
namespace {

using fake_verbs::Hold;

/// Everybody adds 1 `rounds` times: each value comes back once, in order to each, and the sum is right.
void everybody_counts(Job& job, Words& words, std::uint64_t rounds, std::uint32_t width = 8) {
  std::vector<std::vector<std::uint64_t>> seen(static_cast<std::size_t>(job.size()));
  job.run([&](Rank rank) {
    for (std::uint64_t i = 0; i < rounds; ++i)
      seen[static_cast<std::size_t>(rank)].push_back(words.add(rank, 1, 0, width));
  });
  std::vector<std::uint64_t> all;
  for (const auto& mine : seen) {
    EXPECT_TRUE(std::ranges::is_sorted(mine));
    all.insert(all.end(), mine.begin(), mine.end());
  }
  std::ranges::sort(all);
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], i);
  EXPECT_EQ(words[0], rounds * static_cast<std::uint64_t>(job.size()));
}

struct Arrangement {
  std::string name;
  std::vector<Seat> seats;
};
const Seat here{.host = 0}, there{.host = 1};

std::vector<Arrangement> arrangements() {
  return {
      {"Owner", {here}},
      {"OtherHost", {here, there}},
      {"SameHost", {here, here}},
      {"AllKinds", {here, here, there}},
      {"NeighbourWithoutAdapter", {here, {.host = 0, .device = Device::none}, there}},
      {"NeighbourWithoutAtomics", {here, {.host = 0, .device = Device::without_atomics}, there}},
      {"OtherHostWithoutAtomics", {here, here, {.host = 1, .device = Device::without_atomics}}},
  };
}

class Everybody : public ::testing::TestWithParam<Arrangement> {};

TEST_P(Everybody, CountsOnOneWord) {
  Job job(GetParam().seats);
  Words words(job, 0, 1);
  ASSERT_EQ(words.domain(), AtomicsDomain::adapter);
  everybody_counts(job, words, 200);
}

TEST_P(Everybody, AsksTheOwnersAdapter) {
  Job job(GetParam().seats);
  Words words(job, 0, 1);
  job.run([&](Rank rank) { words.add(rank, 1); });  // connects
  words[0] = 0;
  job.fabric.hold(Hold::everything);
  const auto ranks = static_cast<std::size_t>(job.size());
  std::vector<Operation*> operations;
  for (Rank rank = 0; rank < job.size(); ++rank) operations.push_back(words.start_add(rank, 1, nullptr));
  // Who has no way of its own asks the owner by a message: these are let through, by shared memory or here.
  for (int i = 0; i < 300; ++i) {
    job.pass();
    for (const fake_verbs::Pending& next : job.fabric.pending())
      if (next.opcode == IBV_WR_SEND)
        next.acknowledgement ? job.fabric.acknowledge(next.pair) : job.fabric.deliver(next.pair);
  }
  for (const Operation* operation : operations) EXPECT_FALSE(operation->done());
  const auto pending = job.fabric.pending();
  EXPECT_GE(std::ranges::count(pending, IBV_WR_ATOMIC_FETCH_AND_ADD, &fake_verbs::Pending::opcode), 1);
  EXPECT_EQ(words[0], 0U);
  job.fabric.hold(Hold::nothing);
  ASSERT_TRUE(job.until([&] { return std::ranges::all_of(operations, [](const Operation* o) { return o->done(); }); }));
  EXPECT_EQ(words[0], ranks);
  for (Rank rank = 0; rank < job.size(); ++rank) job.worker(rank).release(*operations[static_cast<std::size_t>(rank)]);
}

// A lock of compare_swap, and under it a counter that is read and written by get and put.
TEST_P(Everybody, LocksAndUnlocks) {
  Job job(GetParam().seats);
  Words words(job, 0, 2);
  constexpr std::uint64_t rounds = 20;
  job.run([&](Rank rank) {
    const auto own = static_cast<std::uint64_t>(rank) + 1;
    for (std::uint64_t i = 0; i < rounds; ++i) {
      while (words.swap(rank, 0, own) != 0) {
      }
      words.put(rank, words.get(rank, 1) + 1, 1);
      EXPECT_EQ(job.worker(rank).flush(0).code(), ErrorCode::ok);
      EXPECT_EQ(words.swap(rank, own, 0), own);
    }
  });
  EXPECT_EQ(words[1], rounds * static_cast<std::uint64_t>(job.size()));
}

INSTANTIATE_TEST_SUITE_P(All, Everybody, ::testing::ValuesIn(arrangements()),
                         [](const auto& arrangement) { return arrangement.param.name; });

// --- the other domain ------------------------------------------------------------------------------------------

TEST(Domain, IsTheCpusUnlessAskedFor) {
  Job job({here, here, there});
  Words words(job, 0, 1, AtomicsDomain::cpu);
  EXPECT_EQ(words.domain(), AtomicsDomain::cpu);
  everybody_counts(job, words, 200);
  job.fabric.hold(Hold::everything);
  job.run([&](Rank rank) {
    if (rank != 2) words.add(rank, 1);
  });
  EXPECT_TRUE(job.fabric.pending().empty()) << "within the host the adapter has no part in it";
  job.fabric.hold(Hold::nothing);
}

TEST(Domain, IsTheCpusWhereTheOwnerHasNoAdapterWithAtomics) {
  for (const Device device : {Device::without_atomics, Device::none}) {
    Job job({{.host = 0, .device = device}, here});
    Words words(job, 0, 1);
    EXPECT_EQ(words.domain(), AtomicsDomain::cpu);
    everybody_counts(job, words, 100);
  }
}

TEST(Domain, BelongsToTheRegion) {
  Job job({here, here, there});
  Words by_cpu(job, 0, 1, AtomicsDomain::cpu), by_adapter(job, 0, 1), of_other(job, 2, 1);
  everybody_counts(job, by_adapter, 50);
  everybody_counts(job, by_cpu, 50);
  everybody_counts(job, of_other, 50);
}

TEST(Domain, OfFourBytesIsAlwaysTheCpus) {
  Job job({here, here, there});
  Words words(job, 0, 1);
  everybody_counts(job, words, 100, 4);
}

// --- order -----------------------------------------------------------------------------------------------------

TEST(Order, AFlushCoversBothWays) {
  Job job({here, here, there});
  Words words(job, 0, 2);
  for (const Rank rank : {0, 1, 2}) {
    words[0] = 0;
    job.run([&](Rank self) {
      if (self != rank) return;
      for (int i = 0; i < 100; ++i)
        if (Operation* operation = words.start_add(rank, 1, nullptr)) {
          const auto held = job.worker(rank).lock();
          job.worker(rank).abandon(*operation);
        }
      EXPECT_EQ(job.worker(rank).flush(0).code(), ErrorCode::ok);
      EXPECT_EQ(words[0], 100U);
    });
  }
}

TEST(Order, AFenceWaitsForAtomicsThatAPutMayOvertake) {
  Job job({here, here, there});
  Words words(job, 0, 2);
  for (const Rank rank : {0, 1, 2}) {
    job.run([&](Rank self) {
      if (self == rank) words.add(rank, 1);
    });
    job.fabric.hold(Hold::everything);
    Operation* const operation = words.start_add(rank, 1, nullptr);
    ASSERT_NE(operation, nullptr);
    std::atomic<bool> passed{false};
    std::thread fencing([&] {
      EXPECT_EQ(job.worker(rank).fence(0).code(), ErrorCode::ok);
      passed = true;
    });
    for (int i = 0; i < 500; ++i) std::this_thread::yield();
    EXPECT_FALSE(passed.load()) << "rank " << rank;
    job.fabric.hold(Hold::nothing);
    fencing.join();
    EXPECT_TRUE(operation->done());
    job.worker(rank).release(*operation);
  }
}

}  // namespace
}  // namespace godwit::atomics_test
