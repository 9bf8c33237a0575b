// Calls that do not fit together, whatever the algorithms: an error on every rank that names both calls, never a hang.
// Over a fake fabric; time is the test's.
#include "algorithm_lists.hpp"
#include "collectives/algorithm.hpp"
#include "core/group.hpp"
#include "numeric.hpp"
#include "ranks.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace godwit::collectives {
namespace {

using collectives_test::RankData;
using collectives_test::Ranks;
using collectives_test::settings;
using engine_test::Pending;

/// A part of the time that a wait takes: as long as the ranks wait, each looks around now and then.
void wait_for(Ranks& ranks, int ms) {
  ranks.cluster.settle();
  ranks.cluster.clock().set_ms(ranks.cluster.clock().now_ms() + ms);
  for (Rank rank = 0; rank < ranks.cluster.size(); ++rank) {
    const auto lock = ranks.cluster.worker(rank).lock();
    ranks.cluster.worker(rank).look_after_sources();
  }
  ranks.cluster.settle();
}

/// One mismatch: the ranks whose bit is set call `other`, all others `one`.
struct Mismatch {
  CollectiveCall one, other;
  unsigned odd;
  std::map<std::string, std::string> options{};

  std::string words(int size) const {
    return fmt::format("{} / {}, {} ranks, odd {:b}, {}", core::describe(one), core::describe(other), size, odd,
                       options.empty() ? "" : options.begin()->second);
  }
};

/// In the order of their ranks, or the other way round, with or without time in between for the others to wait.
void expect_error(Ranks& ranks, const Mismatch& mismatch, bool reversed, bool late) {
  const int size = ranks.cluster.size();
  std::vector<RankData> data;
  data.reserve(static_cast<std::size_t>(size));
  std::vector<Pending> pending;
  for (int i = 0; i < size; ++i) {
    const Rank rank = reversed ? size - 1 - i : i;
    data.emplace_back((mismatch.odd >> rank & 1U) != 0 ? mismatch.other : mismatch.one, rank, size, false);
    pending.push_back(ranks.start(rank, data.back().call()));
    if (late) wait_for(ranks, 2000);
  }
  ranks.cluster.settle();
  for (int looks = 0; looks < 3; ++looks) wait_for(ranks, 1000);
  // Whoever had all it needed learns of it with its next collective.
  std::vector<Pending> next;
  for (Rank rank = 0; rank < size; ++rank) next.push_back(ranks.start(rank, {.collective = Collective::barrier}));
  ranks.cluster.settle();
  for (int looks = 0; looks < 3; ++looks) wait_for(ranks, 1000);
  const std::string one = core::describe(mismatch.one), other = core::describe(mismatch.other);
  for (int i = 0; i < size; ++i) {
    ASSERT_TRUE(pending[static_cast<std::size_t>(i)].done()) << mismatch.words(size) << ": call " << i << " hangs";
    const Pending& barrier = next[static_cast<std::size_t>(i)];
    ASSERT_TRUE(barrier.done()) << mismatch.words(size) << ": rank " << i << " hangs in the next call";
    ASSERT_EQ(barrier.status(), ErrorCode::mismatch) << mismatch.words(size) << ", rank " << i;
    for (const std::string& word : {std::string("collective #0 "), "called " + one, "called " + other})
      ASSERT_NE(barrier.detail().find(word), std::string::npos)
          << mismatch.words(size) << ": no '" << word << "' in: " << barrier.detail();
  }
}

void expect_error(int size, const Mismatch& mismatch) {
  for (const bool late : {false, true})
    for (const bool reversed : {false, true}) {
      Ranks ranks(settings(size, mismatch.options));
      expect_error(ranks, mismatch, reversed, late);
      if (testing::Test::HasFailure()) return;
    }
}

bool rooted(Collective collective) { return Problem{.collective = collective}.rooted(); }

/// Every collective, with 5 and 100 elements (eager and rendezvous), to (from) the first and the last rank.
std::vector<CollectiveCall> calls(int size) {
  std::vector<CollectiveCall> list{{.collective = Collective::barrier}};
  for (std::size_t i = 0; i < collective_count; ++i) {
    const auto collective = static_cast<Collective>(i);
    if (collective == Collective::barrier || is_uneven(collective)) continue;
    for (const std::size_t count : {5, 100})
      for (const Rank root : {0, size - 1})
        if (root == 0 || rooted(collective))
          list.push_back({.collective = collective, .count = count, .type = DataType::float32, .root = root});
  }
  return list;
}

class OfAnyTwoCalls : public testing::TestWithParam<int> {};

TEST_P(OfAnyTwoCalls, IsAnErrorOnAllRanks) {
  const int size = GetParam();
  const std::vector<CollectiveCall> list = calls(size);
  unsigned variant = 0;
  for (const CollectiveCall& one : list)
    for (const CollectiveCall& other : list) {
      if (core::signature_of(one) == core::signature_of(other)) continue;
      const unsigned all = 1U << size;
      const unsigned odd = 1 + variant++ % (all - 2);  // some, not all
      Ranks ranks(settings(size));
      expect_error(ranks, {one, other, odd}, variant % 2 == 0, variant % 3 == 0);
      if (HasFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(Mismatch, OfAnyTwoCalls, testing::Values(2, 3, 4));

class WithEachAlgorithm : public testing::TestWithParam<const Algorithm*> {};

// Against each algorithm of all collectives, and against the same one with another root or count.
TEST_P(WithEachAlgorithm, IsAnErrorOnAllRanks) {
  const Algorithm& mine = *GetParam();
  const auto rule = [](const Algorithm& algorithm) {
    return fmt::format("{}:{}", to_string(algorithm.collective), algorithm.name);
  };
  unsigned variant = 0;
  for (const Algorithm* theirs : even_algorithms())
    for (const int size : {3, 4}) {
      const bool same = theirs->collective == mine.collective;
      if (same && theirs != &mine) continue;
      CollectiveCall one{.collective = mine.collective, .count = 40, .type = DataType::int32};
      CollectiveCall other{.collective = theirs->collective, .count = 40, .type = DataType::int32};
      if (same && rooted(mine.collective)) other.root = 1;
      if (same && !rooted(mine.collective)) other.count = 7;
      if (core::signature_of(one) == core::signature_of(other)) continue;  // barriers
      const auto applies = [&](const Algorithm& algorithm, const CollectiveCall& call) {
        return algorithm.applies({.collective = call.collective, .size = size, .count = call.count, .root = call.root});
      };
      if (!applies(mine, one) || !applies(*theirs, other)) continue;
      const unsigned odd = 1 + variant++ % ((1U << size) - 2);
      Ranks ranks(settings(size, {{"ALGO", same ? rule(mine) : rule(mine) + ";" + rule(*theirs)}}));
      expect_error(ranks, {one, other, odd, {{"ALGO", rule(mine) + " " + rule(*theirs)}}}, variant % 2 == 0,
                   variant % 3 == 0);
      if (HasFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(Mismatch, WithEachAlgorithm, testing::ValuesIn(even_algorithms()), [](const auto& test) {
  return std::string(to_string(test.param->collective)) + "_" + std::string(test.param->name);
});

// Everybody only waits: no message meets a call that it does not fit to.
TEST(Mismatch, WhereEverybodyWaits) {
  const auto scatter = [](Rank root) {
    return CollectiveCall{.collective = Collective::scatter, .count = 4, .type = DataType::int32, .root = root};
  };
  expect_error(2, {scatter(1), scatter(0), 2});  // each thinks that the other is the root
  for (const int size : {3, 4}) expect_error(size, {scatter(1), scatter(0), 2});
}

TEST(Mismatch, OfTypesAndOperations) {
  const CollectiveCall sum{.collective = Collective::allreduce, .count = 100, .type = DataType::float32};
  CollectiveCall other = sum;
  other.type = DataType::int32;
  expect_error(4, {sum, other, 4});
  other = sum;
  other.op = ReduceOp::max;
  expect_error(4, {sum, other, 4});
}

// A message that came early fits, another one does not: seen when the call is made, without any wait.
TEST(Mismatch, OfOneOfSeveralEarlyMessages) {
  Ranks ranks(settings(4, {{"ALGO", "reduce:binomial;gather:linear"}}));
  const CollectiveCall reduce{.collective = Collective::reduce, .count = 4, .type = DataType::int32};
  const CollectiveCall gather{.collective = Collective::gather, .count = 4, .type = DataType::int32};
  std::vector<RankData> data;
  for (const Rank rank : {0, 1, 2, 3}) data.emplace_back(rank == 3 ? gather : reduce, rank, 4, false);
  std::vector<Pending> pending;
  for (const Rank rank : {1, 3, 0}) {  // rank 0 receives from 1 and 2
    pending.push_back(ranks.start(rank, data[static_cast<std::size_t>(rank)].call()));
    ranks.cluster.settle();
  }
  EXPECT_TRUE(ranks.cluster.world(0).broken);
  EXPECT_EQ(ranks.cluster.world(2).error.code(), ErrorCode::mismatch);
}

// What rank 0 waits for is told before rank 1 has the communicator.
TEST(Mismatch, OfACommunicatorThatTheOtherRankMakesLater) {
  Ranks ranks(settings(2));
  std::vector<std::unique_ptr<CollectiveContext>> contexts;
  std::vector<RankData> data;
  std::vector<Pending> pending;
  for (const Rank rank : {0, 1}) {
    core::Worker& worker = ranks.cluster.worker(rank);
    contexts.push_back(
        std::make_unique<CollectiveContext>(worker, worker.add_group(core::make_group(2, rank, {0, 1}))));
    data.emplace_back(
        CollectiveCall{.collective = Collective::scatter, .count = 4, .type = DataType::int32, .root = 1 - rank}, rank,
        2, false);
    {
      const auto lock = worker.lock();
      pending.emplace_back(worker, start_collective(worker, *contexts.back(), data.back().call()));
    }
    for (int looks = 0; looks < 2; ++looks) wait_for(ranks, 1500);
  }
  for (const Pending& p : pending) {
    ASSERT_TRUE(p.done());
    EXPECT_EQ(p.status(), ErrorCode::mismatch) << p.detail();
  }
}

// Ranks that are late, in a program that is right: however long the others wait, there is no error.
TEST(Mismatch, IsNotSeenInLateRanks) {
  for (const Algorithm* algorithm : even_algorithms()) {
    constexpr int size = 4;
    const CollectiveCall call{.collective = algorithm->collective, .count = 33, .type = DataType::int32, .root = 1};
    if (!algorithm->applies({.collective = call.collective, .size = size, .count = call.count, .root = call.root}))
      continue;
    Ranks ranks(settings(size, {{"ALGO", fmt::format("{}:{}", to_string(call.collective), algorithm->name)}}));
    std::vector<RankData> data;
    std::vector<Pending> pending;
    for (const Rank rank : {2, 0, 3, 1}) data.emplace_back(call, rank, size, false);
    std::vector<RankData> again;
    for (const Rank rank : {2, 0, 3, 1}) again.emplace_back(call, rank, size, false);
    for (std::size_t i = 0; i < 4; ++i) {
      constexpr Rank order[] = {2, 0, 3, 1};
      pending.push_back(ranks.start(order[i], data[i].call()));
      pending.push_back(ranks.start(order[i], again[i].call()));
      for (int looks = 0; looks < 4; ++looks) wait_for(ranks, 1500);
    }
    for (const Pending& p : pending) {
      ASSERT_TRUE(p.done()) << algorithm->name;
      EXPECT_EQ(p.status(), ErrorCode::ok) << p.detail();
    }
    for (const auto& set : {data, again})
      for (const RankData& d : set) EXPECT_EQ(d.check(), "");
    ranks.cluster.expect_clean();
  }
}

// A wait is told once, however long it takes.
TEST(Mismatch, ASourceIsToldOnce) {
  engine_test::ClusterSettings s = settings(2);
  s.fabric.record = true;
  Ranks ranks(s);
  ranks.cluster.connect_all();
  const CollectiveCall call{.collective = Collective::broadcast, .count = 4, .type = DataType::int32, .root = 1};
  RankData data(call, 0, 2, false), late(call, 1, 2, false);
  const Pending pending = ranks.start(0, data.call());
  for (int looks = 0; looks < 10; ++looks) wait_for(ranks, 1500);
  EXPECT_EQ(ranks.cluster.fabric().script(), std::vector<std::string>{"0>1 awaited"});
  const Pending at_last = ranks.start(1, late.call());
  ranks.cluster.settle();
  EXPECT_TRUE(pending.done() && at_last.done());
}

}  // namespace
}  // namespace godwit::collectives
