// The executor over a fake fabric, single-stepped: numbers, errors, several in flight, small queues.
#include "algorithm_lists.hpp"
#include "collectives/algorithm.hpp"
#include "collectives/collective.hpp"
#include "numeric.hpp"
#include "ranks.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace godwit::collectives {
namespace {

using collectives_test::RankData;
using collectives_test::Ranks;
using collectives_test::settings;
using core::Operation;
using engine_test::ClusterSettings;
using engine_test::Pending;

/// Runs one collective on all ranks, begun in a random order, and checks the numbers.
void run(Ranks& ranks, const CollectiveCall& call, bool in_place, std::mt19937_64& random) {
  const int size = ranks.cluster.size();
  std::vector<Rank> order;
  std::vector<RankData> data;
  for (Rank rank = 0; rank < size; ++rank) {
    order.push_back(rank);
    data.emplace_back(call, rank, size, in_place, static_cast<std::size_t>(rank) % 3);
  }
  std::ranges::shuffle(order, random);
  std::vector<Pending> pending;
  for (Rank rank : order) {
    pending.push_back(ranks.start(rank, data[static_cast<std::size_t>(rank)].call()));
    if (random() % 2 == 0) ranks.cluster.settle(random);
  }
  ranks.cluster.settle(random);
  for (const Pending& p : pending) {
    ASSERT_TRUE(p.done()) << ranks.cluster.worker(0).describe_all();
    ASSERT_EQ(p.status(), ErrorCode::ok) << p.detail();
  }
  for (const RankData& d : data) EXPECT_EQ(d.check(), "");
}

class Executor : public testing::TestWithParam<const Algorithm*> {};

TEST_P(Executor, GivesTheRightNumbers) {
  std::mt19937_64 random(7);
  const std::string rule = std::string(to_string(GetParam()->collective)) + ":" + std::string(GetParam()->name);
  for (int size : {1, 2, 3, 4, 5, 8}) {
    Ranks ranks(settings(size, {{"ALGO", rule}}));
    for (std::size_t count : {0, 1, 5, 37, 1000})
      for (bool in_place : {false, true}) {
        CollectiveCall call{.collective = GetParam()->collective, .count = count, .type = DataType::int32};
        call.op = count % 2 == 0 && has_average(call.collective) ? ReduceOp::avg : ReduceOp::sum;
        call.root = static_cast<Rank>(count) % size;
        const Problem problem{.collective = call.collective, .size = size, .count = count};
        if (GetParam()->applies(problem)) run(ranks, call, in_place, random);
      }
    ranks.cluster.expect_clean();
  }
}

TEST_P(Executor, GivesTheRightNumbersOnSeveralNodes) {
  std::mt19937_64 random(11);
  const std::string rule = std::string(to_string(GetParam()->collective)) + ":" + std::string(GetParam()->name);
  const std::vector<int> equal{0, 0, 1, 1}, uneven{0, 0, 0, 1, 1, 2, 2}, dealt{0, 1, 0, 1, 0, 1};
  for (const std::vector<int>& layout : {equal, uneven, dealt}) {
    const int size = static_cast<int>(layout.size());
    Problem problem{.collective = GetParam()->collective, .size = size, .count = 33};
    problem.shape = {1 + *std::ranges::max_element(layout), size / 2, &layout};
    if (!GetParam()->applies(problem)) continue;
    ClusterSettings s = settings(size, {{"ALGO", rule}});
    s.node_of = layout;
    Ranks ranks(s);
    for (std::size_t count : {0, 1, 33})
      for (bool in_place : {false, true})
        run(ranks,
            {.collective = GetParam()->collective,
             .count = count,
             .type = DataType::int32,
             .op = sum,
             .root = size - 2},
            in_place, random);
    ranks.cluster.expect_clean();
  }
}

INSTANTIATE_TEST_SUITE_P(All, Executor, testing::ValuesIn(even_algorithms()), [](const auto& test) {
  return std::string(to_string(test.param->collective)) + "_" + std::string(test.param->name);
});

TEST(ExecutorLimits, WorksWithAQueueOfOne) {
  std::mt19937_64 random(3);
  ClusterSettings s = settings(5);
  s.fabric.queue_depth = 1;
  Ranks ranks(s);
  for (std::size_t i = 0; i < collective_count && !is_uneven(static_cast<Collective>(i)); ++i)
    run(ranks, {.collective = static_cast<Collective>(i), .count = 100, .type = DataType::float32}, false, random);
}

TEST(ExecutorLimits, ManyCollectivesInFlightKeepTheirOrder) {
  constexpr int size = 4, calls = 50;
  std::mt19937_64 random(5);
  Ranks ranks(settings(size));
  std::vector<std::unique_ptr<RankData>> data;
  std::vector<Pending> pending;
  for (Rank rank = 0; rank < size; ++rank)
    for (int i = 0; i < calls; ++i) {
      const CollectiveCall call{.collective = static_cast<Collective>(i % 9),
                                .count = static_cast<std::size_t>(i * 3),
                                .type = DataType::float64,
                                .root = i % size};
      data.push_back(std::make_unique<RankData>(call, rank, size, i % 2 == 0));
      pending.push_back(ranks.start(rank, data.back()->call()));
    }
  ranks.cluster.settle(random);
  for (const Pending& p : pending) EXPECT_TRUE(p.done() && p.status() == ErrorCode::ok) << p.detail();
  for (const auto& d : data) EXPECT_EQ(d->check(), "");
  ranks.cluster.expect_clean();
}

TEST(ExecutorLimits, OutlivesItsContext) {
  Ranks ranks(settings(3));
  std::vector<Pending> pending;
  for (Rank rank = 0; rank < 3; ++rank) {
    pending.push_back(ranks.start(rank, {.collective = Collective::barrier}));
    EXPECT_FALSE(pending.back().done());
    ranks.contexts[static_cast<std::size_t>(rank)].reset();
  }
  ranks.cluster.settle();
  for (const Pending& p : pending) EXPECT_TRUE(p.done() && p.status() == ErrorCode::ok);
}

TEST(ExecutorErrors, AKilledRankFailsTheCollectiveOnAllOthers) {
  for (int posts = 0; posts < 40; posts += 3) {
    constexpr int size = 5;
    Ranks ranks(settings(size));
    ranks.cluster.connect_all();
    std::vector<RankData> data;
    for (Rank rank = 0; rank < size; ++rank)
      data.emplace_back(CollectiveCall{.collective = Collective::allreduce, .count = 500, .type = DataType::float32},
                        rank, size, false);
    std::vector<Pending> pending;
    for (Rank rank = 0; rank < size; ++rank)
      pending.push_back(ranks.start(rank, data[static_cast<std::size_t>(rank)].call()));
    for (int i = 0; i < posts; ++i) {
      ranks.cluster.fabric().step();
      for (Rank rank = 0; rank < size; ++rank) ranks.cluster.worker(rank).progress();
    }
    ranks.cluster.kill(3);
    ranks.cluster.settle();
    int failed = 0;
    for (Rank rank = 0; rank < size; ++rank) {
      const Pending& p = pending[static_cast<std::size_t>(rank)];
      if (rank == 3) continue;
      ASSERT_TRUE(p.done()) << "rank " << rank << " after " << posts;
      if (p.status() == ErrorCode::ok) continue;  // it had all it needed
      ++failed;
      EXPECT_EQ(p.status(), ErrorCode::peer_failed) << p.detail();
      EXPECT_NE(p.detail().find("rank 3"), std::string::npos) << p.detail();
    }
    EXPECT_TRUE(posts > 0 || failed == size - 1);
    // Nobody answers the dead rank: what it had in flight ends with its worker.
    ranks.cluster.worker(3).shutdown(std::chrono::milliseconds{0});
    EXPECT_TRUE(pending[3].done());
  }
}

TEST(ExecutorErrors, RulesAreCheckedWhenTheContextIsMade) {
  EXPECT_THROW(Ranks(settings(2, {{"ALGO", "allreduce:rign"}})), Error);
}

TEST(SelectionTable, IsThatOfTheCommunicator) {
  Ranks ranks(settings(4));
  EXPECT_NE(ranks.contexts[0]->selection_table().find("4 ranks"), std::string::npos);
}

}  // namespace
}  // namespace godwit::collectives
