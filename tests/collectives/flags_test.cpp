// Collectives by flags over a fake fabric whose ranks map each other's memory: numbers, order, and every way in which a
// partner may not come.
#include "collectives/collective.hpp"
#include "collectives/direct.hpp"
#include "engine/harness.hpp"
#include "numeric.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

namespace godwit::collectives {
namespace {

using collectives_test::RankData;
using engine_test::Cluster;
using engine_test::ClusterSettings;
using engine_test::Pending;

ClusterSettings settings(int ranks, bool maps, std::map<std::string, std::string> options) {
  ClusterSettings s;
  s.ranks = ranks;
  s.fabric.record = false;
  s.fabric.maps = maps;
  s.options = std::move(options);
  return s;
}

class Ranks {
 public:
  explicit Ranks(int size, bool maps = true, std::map<std::string, std::string> options = {})
      : cluster(settings(size, maps, std::move(options))) {
    cluster.connect_all();
    for (Rank rank = 0; rank < size; ++rank)
      contexts.push_back(std::make_unique<CollectiveContext>(cluster.worker(rank), cluster.world(rank)));
  }
  // What a killed rank has left under way ends with its worker.
  ~Ranks() {
    contexts.clear();
    for (Rank rank = 0; rank < cluster.size(); ++rank) cluster.worker(rank).shutdown(std::chrono::milliseconds(0));
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  Pending start(Rank rank, const CollectiveCall& call) {
    core::Worker& worker = cluster.worker(rank);
    return {worker, start_collective(worker, *contexts[static_cast<std::size_t>(rank)], call)};
  }
  /// All ranks, checked.
  void run(const CollectiveCall& call, bool in_place = false) {
    std::vector<RankData> data;
    for (Rank rank = 0; rank < cluster.size(); ++rank) data.emplace_back(call, rank, cluster.size(), in_place);
    std::vector<Pending> pending;
    for (Rank rank = 0; rank < cluster.size(); ++rank)
      pending.push_back(start(rank, data[static_cast<std::size_t>(rank)].call()));
    cluster.settle();
    for (const Pending& p : pending) {
      ASSERT_TRUE(p.done()) << cluster.worker(p.rank()).describe_all();
      ASSERT_EQ(p.status(), ErrorCode::ok) << p.detail();
    }
    for (const RankData& d : data) EXPECT_EQ(d.check(), "") << to_string(call.collective) << " of " << call.count;
  }
  /// Until the page is there.
  void warm_up() {
    for (int i = 0; i < 3; ++i) run({.collective = Collective::barrier});
  }
  void tick(std::int64_t ms) { cluster.clock().set_ms(cluster.clock().now_ms() + ms); }

  Cluster cluster;
  std::vector<std::unique_ptr<CollectiveContext>> contexts;
};

constexpr CollectiveCall barrier{.collective = Collective::barrier};

TEST(FlagCalls, NeedNoMessagesAndGiveTheRightNumbers) {
  for (const int size : {2, 3, 5, 8}) {
    Ranks ranks(size);
    ranks.warm_up();
    const std::uint64_t before = ranks.cluster.fabric().posted();
    ranks.run(barrier);
    for (const Collective collective : {Collective::allreduce, Collective::allgather})
      for (int type = 0; type <= static_cast<int>(DataType::float64); ++type)
        for (int op = 0; op <= static_cast<int>(ReduceOp::avg); ++op)
          for (const std::size_t count :
               {std::size_t{0}, std::size_t{1}, std::size_t{2}, flag_payload / size_of(static_cast<DataType>(type))})
            ranks.run({.collective = collective,
                       .count = count,
                       .type = static_cast<DataType>(type),
                       .op = static_cast<ReduceOp>(op)},
                      count % 2 == 1);
    EXPECT_EQ(ranks.cluster.fabric().posted(), before) << size << " ranks";
    ranks.run({.collective = Collective::allreduce, .count = flag_payload + 1});
    EXPECT_GT(ranks.cluster.fabric().posted(), before);
    ranks.cluster.expect_clean();
  }
}

TEST(FlagCalls, GoBySchedulesWhereNoPageIsShared) {
  Ranks ranks(3, false);
  ranks.warm_up();
  const std::uint64_t before = ranks.cluster.fabric().posted();
  ranks.run({.collective = Collective::allreduce, .count = 1, .type = DataType::int32});
  EXPECT_GT(ranks.cluster.fabric().posted(), before);
  ranks.cluster.expect_clean();
}

TEST(FlagCalls, GoBySchedulesWhereNoPageCanBeMade) {
  Ranks ranks(3);
  ranks.cluster.fabric().refuse_registration(true);
  ranks.warm_up();
  const std::uint64_t before = ranks.cluster.fabric().posted();
  ranks.run({.collective = Collective::allreduce, .count = 1, .type = DataType::int32});
  EXPECT_GT(ranks.cluster.fabric().posted(), before);
  ranks.cluster.expect_clean();
}

TEST(FlagCalls, GoBySchedulesWhereTheRulesForbidFlags) {
  for (const char* rule : {"^flags", "allreduce:recursive_doubling"}) {
    Ranks ranks(4, true, {{"ALGO", rule}});
    for (int i = 0; i < 4; ++i) ranks.run({.collective = Collective::allreduce, .count = 1, .type = DataType::int32});
    const std::uint64_t before = ranks.cluster.fabric().posted();
    ranks.run({.collective = Collective::allreduce, .count = 1, .type = DataType::int32});
    EXPECT_GT(ranks.cluster.fabric().posted(), before);
  }
}

// Calls of all kinds and sizes in flight, begun in another order of time by each rank, from the first call on.
TEST(FlagCalls, ManyInFlightKeepTheirOrder) {
  for (const int size : {2, 3, 5, 8}) {
    std::mt19937_64 random(static_cast<std::uint64_t>(size));
    Ranks ranks(size);
    constexpr int calls = 120;
    std::vector<CollectiveCall> sequence;
    for (int i = 0; i < calls; ++i)
      sequence.push_back(
          {.collective = random() % 2 == 0 ? Collective::allreduce : static_cast<Collective>(random() % 9),
           .count = random() % 4 == 0 ? random() % 500 : random() % 9,
           .type = random() % 2 == 0 ? DataType::int32 : DataType::float64,
           .op = random() % 2 == 0 ? ReduceOp::sum : ReduceOp::max,
           .root = static_cast<Rank>(random() % static_cast<unsigned>(size))});
    std::vector<std::unique_ptr<RankData>> data;
    std::vector<Pending> pending;
    std::vector<std::size_t> next(static_cast<std::size_t>(size));
    for (int started = 0; started < calls * size;) {
      const auto rank = static_cast<Rank>(random() % static_cast<unsigned>(size));
      std::size_t& at = next[static_cast<std::size_t>(rank)];
      for (std::uint64_t burst = 1 + random() % 6; burst > 0 && at < sequence.size(); --burst, ++at, ++started) {
        data.push_back(std::make_unique<RankData>(sequence[at], rank, size, at % 2 == 0));
        pending.push_back(ranks.start(rank, data.back()->call()));
      }
      if (random() % 3 == 0) ranks.cluster.fabric().step(random);
      if (random() % 3 == 0) ranks.cluster.worker(rank).progress();
    }
    ranks.cluster.settle(random);
    for (const Pending& p : pending) ASSERT_TRUE(p.done() && p.status() == ErrorCode::ok) << p.detail();
    for (const auto& d : data) EXPECT_EQ(d->check(), "");
    ranks.cluster.expect_clean();
  }
}

TEST(FlagCalls, AreDoneOnlyWhenAllHaveCalled) {
  Ranks ranks(3);
  ranks.warm_up();
  const Pending first = ranks.start(0, barrier), second = ranks.start(2, barrier);
  for (int i = 0; i < 10; ++i) ranks.cluster.settle();
  EXPECT_FALSE(first.done() || second.done());
  const std::string words = ranks.cluster.worker(0).describe(*first.operation());
  EXPECT_NE(words.find("waits for the flag of rank 1 ("), std::string::npos) << words;
  EXPECT_EQ(words.find("rank 2"), std::string::npos) << words;
  const Pending third = ranks.start(1, barrier);
  EXPECT_TRUE(third.done());  // it was the last
  ranks.cluster.settle();
  EXPECT_TRUE(first.done() && second.done());
}

TEST(FlagCalls, OutliveTheContextOfARankThatIsFaster) {
  Ranks ranks(3);
  ranks.warm_up();
  int value[3] = {1, 2, 4};
  std::vector<Pending> pending;
  for (Rank rank = 0; rank < 3; ++rank)
    pending.push_back(ranks.start(rank, {.collective = Collective::allreduce,
                                         .send = &value[rank],
                                         .recv = &value[rank],
                                         .count = 1,
                                         .type = DataType::int32}));
  ASSERT_TRUE(pending[2].done());
  ranks.cluster.worker(0).progress();
  ASSERT_TRUE(pending[0].done());
  ranks.contexts[0].reset();  // rank 0 had made the page
  ranks.contexts[1].reset();  // while its call is under way
  ranks.cluster.settle();
  EXPECT_TRUE(pending[1].done() && pending[1].status() == ErrorCode::ok);
  for (const int v : value) EXPECT_EQ(v, 7);
}

TEST(FlagCalls, OfAContextThatGoesWhileThePageIsMade) {
  Ranks ranks(3);
  ranks.run(barrier);
  ranks.run(barrier);
  std::vector<Pending> pending;
  for (Rank rank = 0; rank < 3; ++rank) {
    pending.push_back(ranks.start(rank, barrier));
    EXPECT_FALSE(pending.back().done());
    ranks.contexts[static_cast<std::size_t>(rank)].reset();
  }
  ranks.cluster.settle();
  for (const Pending& p : pending) EXPECT_TRUE(p.done() && p.status() == ErrorCode::ok) << p.detail();
  ranks.cluster.expect_clean();
}

void expect_mismatch(const CollectiveCall& one, const CollectiveCall& other) {
  constexpr int size = 4;
  Ranks ranks(size);
  ranks.warm_up();
  std::vector<RankData> data;
  std::vector<Pending> pending;
  for (Rank rank = 0; rank < size; ++rank) data.emplace_back(rank == 2 ? other : one, rank, size, false);
  for (Rank rank = 0; rank < size; ++rank)
    pending.push_back(ranks.start(rank, data[static_cast<std::size_t>(rank)].call()));
  ranks.cluster.settle();
  ranks.tick(100);  // the period of the closer look
  ranks.cluster.settle();
  std::vector<Pending> next;  // whoever had all it needed learns of it with its next collective
  for (Rank rank = 0; rank < size; ++rank) next.push_back(ranks.start(rank, barrier));
  ranks.cluster.settle();
  ranks.tick(100);
  ranks.cluster.settle();
  for (Rank rank = 0; rank < size; ++rank) {
    const Pending& p = next[static_cast<std::size_t>(rank)];
    EXPECT_TRUE(p.done() && pending[static_cast<std::size_t>(rank)].done());
    EXPECT_EQ(p.status(), ErrorCode::mismatch) << "rank " << rank;
    EXPECT_NE(p.detail().find(core::describe(one)), std::string::npos) << p.detail();
    EXPECT_NE(p.detail().find(core::describe(other)), std::string::npos) << p.detail();
  }
}

TEST(FlagErrors, DifferentCallsAreAMismatchOnAllRanks) {
  const CollectiveCall allreduce{.collective = Collective::allreduce, .count = 3, .type = DataType::float32};
  CollectiveCall other = allreduce;
  other.count = 4;
  expect_mismatch(allreduce, other);
  other = allreduce;
  other.op = ReduceOp::max;
  expect_mismatch(allreduce, other);
  expect_mismatch(barrier, allreduce);
}

TEST(FlagErrors, FlagsHereAndAScheduleThereAreAMismatchOnAllRanks) {
  const CollectiveCall large{.collective = Collective::allreduce, .count = 1000, .type = DataType::float32};
  expect_mismatch(barrier, large);
  expect_mismatch(large, barrier);
  // Whoever only receives sends nothing that could show the difference.
  for (const Rank root : {0, 2})
    for (const Collective collective : {Collective::broadcast, Collective::scatter, Collective::gather})
      expect_mismatch(barrier, {.collective = collective, .count = 10, .root = root});
}

TEST(FlagErrors, AKilledRankFailsTheCallOnAllOthers) {
  for (const bool warm : {true, false}) {
    constexpr int size = 5;
    Ranks ranks(size);
    if (warm)
      ranks.warm_up();
    else
      for (int i = 0; i < 2; ++i) ranks.run(barrier);  // the next one makes the page
    std::vector<Pending> pending;
    for (Rank rank = 0; rank < size; ++rank)
      if (rank != 3) pending.push_back(ranks.start(rank, barrier));
    ranks.cluster.settle();
    ranks.cluster.kill(3);
    ranks.cluster.settle();
    ranks.tick(100);
    ranks.cluster.settle();
    for (const Pending& p : pending) {
      ASSERT_TRUE(p.done()) << ranks.cluster.worker(p.rank()).describe_all();
      EXPECT_EQ(p.status(), ErrorCode::peer_failed) << p.detail();
      EXPECT_NE(p.detail().find("rank 3"), std::string::npos) << p.detail();
    }
  }
}

TEST(FlagErrors, ARankThatDiesAfterItsLastFlagFailsNobody) {
  Ranks ranks(3);
  ranks.warm_up();
  const Pending dead = ranks.start(2, barrier), slow = ranks.start(1, barrier);
  ranks.cluster.kill(2);
  ranks.cluster.settle();
  ranks.tick(100);
  ranks.cluster.settle();
  const Pending last = ranks.start(0, barrier);
  ranks.cluster.settle();
  EXPECT_TRUE(last.done() && slow.done());
  EXPECT_EQ(last.status(), ErrorCode::ok);
  EXPECT_EQ(slow.status(), ErrorCode::ok) << slow.detail();
}

TEST(FlagErrors, AnAbortEndsTheCallsOfAllRanks) {
  Ranks ranks(3);
  ranks.warm_up();
  std::vector<Pending> pending;
  for (Rank rank = 0; rank < 2; ++rank)
    for (int i = 0; i < 3; ++i) pending.push_back(ranks.start(rank, barrier));
  ranks.cluster.worker(2).abort_group(ranks.cluster.world(2), ErrorCode::aborted, "enough");
  ranks.cluster.settle();
  for (const Pending& p : pending) {
    ASSERT_TRUE(p.done());
    EXPECT_EQ(p.status(), ErrorCode::aborted);
    EXPECT_NE(p.detail().find("enough"), std::string::npos) << p.detail();
  }
}

TEST(FlagErrors, ShutdownEndsWhatIsUnderWay) {
  Ranks ranks(2);
  ranks.warm_up();
  const Pending pending = ranks.start(0, barrier);
  ranks.cluster.worker(0).shutdown(std::chrono::milliseconds(0));
  EXPECT_TRUE(pending.done());
  EXPECT_EQ(pending.status(), ErrorCode::cancelled);
  ranks.contexts[0].reset();
}

}  // namespace
}  // namespace godwit::collectives
