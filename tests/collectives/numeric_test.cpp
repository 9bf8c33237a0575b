// Numbers over shared memory: ranks are threads of this process. Every collective, every type, every operation.
#include "numeric.hpp"

#include "runtime/local_ranks.hpp"

#include <godwit/godwit.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace godwit {
namespace {

using collectives_test::RankData;

void expect_right(Communicator& world, const CollectiveCall& call, bool in_place, std::size_t offset = 0) {
  if (call.op == avg && !has_average(call.collective)) return;
  const RankData data(call, world.rank(), world.size(), in_place, offset);
  world.collective(data.call());
  EXPECT_EQ(data.check(), "");
}

template <class F>
void for_each_collective(F&& visit) {
  for (std::size_t i = 0; i < collective_count && !is_uneven(static_cast<Collective>(i)); ++i)
    visit(static_cast<Collective>(i));
}

class Numeric : public testing::TestWithParam<int> {
 protected:
  template <class F>
  void run(F&& body, std::map<std::string, std::string> options = {}) {
    runtime::run_local_ranks(
        GetParam(),
        [&](Context& context) {
          Communicator world = context.world();
          body(world);
        },
        ContextOptions{.set = std::move(options)});
  }
};

TEST_P(Numeric, EveryTypeAndOperation) {
  run([](Communicator& world) {
    for_each_collective([&](Collective collective) {
      for (int type = 0; type <= static_cast<int>(DataType::float64); ++type)
        for (int op = 0; op <= static_cast<int>(ReduceOp::avg); ++op)
          for (std::size_t count : {1, 17})
            expect_right(world,
                         {.collective = collective,
                          .count = count,
                          .type = static_cast<DataType>(type),
                          .op = static_cast<ReduceOp>(op),
                          .root = world.size() / 2},
                         op % 2 == 1, 1);
    });
  });
}

TEST_P(Numeric, EverySize) {
  run([](Communicator& world) {
    for_each_collective([&](Collective collective) {
      for (std::size_t count : {0, 1, 3, 15, 16, 17, 4095, 4096, 4097, 20011})
        for (bool in_place : {false, true})
          for (Rank root : {0, world.size() - 1})
            expect_right(world,
                         {.collective = collective, .count = count, .type = DataType::float32, .op = sum, .root = root},
                         in_place, count % 2);
    });
  });
}

TEST_P(Numeric, LargeVectorsInManyChunks) {
  run([](Communicator& world) {
    for_each_collective([&](Collective collective) {
      const std::size_t count =
          collective == Collective::allreduce || collective == Collective::reduce || collective == Collective::broadcast
              ? 1'000'003
              : 300'007;
      expect_right(world, {.collective = collective, .count = count, .type = DataType::int32, .op = sum}, false);
    });
  });
}

TEST_P(Numeric, RingOnlyAndTreeOnly) {
  for (const char* rule : {"ring", "tree"})
    run(
        [](Communicator& world) {
          for_each_collective([&](Collective collective) {
            for (std::size_t count : {1, 100, 50000})
              expect_right(world, {.collective = collective, .count = count, .type = DataType::float64, .op = avg},
                           false);
          });
        },
        {{"ALGO", GetParam() == 2 || GetParam() == 4 || std::string(rule) == "ring" ? rule : "allreduce:tree"}});
}

TEST_P(Numeric, NonBlockingOnSeveralCommunicators) {
  run([](Communicator& world) {
    Communicator other = world.dup();
    std::vector<std::unique_ptr<RankData>> data;
    std::vector<Request> requests;
    for (int i = 0; i < 40; ++i) {
      Communicator& on = i % 2 == world.rank() % 2 ? world : other;  // interleaved differently by rank
      data.push_back(std::make_unique<RankData>(CollectiveCall{.collective = static_cast<Collective>(1 + i / 2 % 10),
                                                               .count = static_cast<std::size_t>(i / 2 * 100),
                                                               .type = DataType::float32,
                                                               .op = sum},
                                                world.rank(), world.size(), false));
      requests.push_back(on.icollective(data.back()->call()));
    }
    for (Request& request : requests) request.wait();
    for (const auto& d : data) EXPECT_EQ(d->check(), "");
  });
}

// Elements say where they come from: 1000 * sender + 100 * receiver + position. Calls are repeated with other lengths,
// and other ranks' offsets, so that no plan is taken for another's.
TEST_P(Numeric, BlocksOfDifferentLengths) {
  run([](Communicator& world) {
    const auto size = static_cast<std::size_t>(world.size()), me = static_cast<std::size_t>(world.rank());
    const auto value = [](std::size_t from, std::size_t to, std::size_t i) {
      return static_cast<double>(1000 * from + 100 * to + i);
    };
    for (std::size_t turn = 0; turn < 6; ++turn) {
      const auto length = [&](std::size_t from, std::size_t to) { return (from * 5 + to * 3 + turn) % 4 * (1 + turn); };
      std::vector<std::size_t> to_me(size), from_me(size), whole(size), offsets(size);
      for (std::size_t r = 0; r < size; ++r) {
        from_me[r] = length(me, r);
        to_me[r] = length(r, me);
        whole[r] = length(r, 0);
        offsets[r] = (size - 1 - r) * 40 + me;  // backwards, with gaps
      }
      const std::size_t most = size * 40 + size;
      const auto expect_blocks = [&](const std::vector<double>& have, const std::vector<std::size_t>& counts,
                                     std::size_t to) {
        for (std::size_t from = 0; from < size; ++from)
          for (std::size_t i = 0; i < counts[from]; ++i)
            ASSERT_EQ(have[offsets[from] + i], value(from, to, i)) << "from " << from << " turn " << turn;
      };

      std::vector<double> mine(whole[me]), all(most, -1);
      for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = value(me, 0, i);
      world.allgatherv(mine, all, {whole, offsets});
      expect_blocks(all, whole, 0);
      const auto root = static_cast<Rank>(turn % size);
      std::vector<double> gathered(world.rank() == root ? most : 0, -1);
      world.gatherv(mine, gathered, {whole, offsets}, root);
      if (world.rank() == root) expect_blocks(gathered, whole, 0);

      std::vector<double> back(whole[me], -1);
      world.scatterv(gathered, {whole, offsets}, back, root);
      EXPECT_EQ(back, mine);
      std::fill(back.begin(), back.end(), -1);
      world.reduce_scatterv(all, {whole, offsets}, back, sum);
      for (std::size_t i = 0; i < back.size(); ++i) ASSERT_EQ(back[i], world.size() * mine[i]);

      std::vector<double> out, in(most, -1);
      for (std::size_t to = 0; to < size; ++to)
        for (std::size_t i = 0; i < from_me[to]; ++i) out.push_back(value(me, to, i));
      world.alltoallv(out, {from_me}, in, {to_me, offsets});
      expect_blocks(in, to_me, me);
    }
  });
}

TEST_P(Numeric, UnevenElementsOfAnyKindTravel) {
  struct Particle {
    double x;
    int id;
  };
  run([](Communicator& world) {
    const auto size = static_cast<std::size_t>(world.size());
    std::vector<std::size_t> counts(size);
    for (std::size_t r = 0; r < size; ++r) counts[r] = r % 3;
    std::vector<Particle> mine(counts[static_cast<std::size_t>(world.rank())], Particle{0.5, world.rank()});
    std::vector<Particle> all(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
    world.allgatherv(mine, all, {counts});
    std::size_t at = 0;
    for (std::size_t r = 0; r < size; ++r)
      for (std::size_t i = 0; i < counts[r]; ++i, ++at) {
        EXPECT_EQ(all[at].id, static_cast<int>(r));
        EXPECT_EQ(all[at].x, 0.5);
      }
  });
}

// All ranks hear of it, and in words: other lengths of an allgatherv.
TEST_P(Numeric, LengthsThatDifferBetweenRanksAreAMismatch) {
  if (GetParam() == 1) GTEST_SKIP() << "needs another rank";
  run([](Communicator& world) {
    Communicator spoiled = world.dup();
    world.barrier();  // nobody is in dup() any more
    std::vector<std::size_t> counts(static_cast<std::size_t>(world.size()), 4);
    if (world.rank() == 0) counts[0] = 5, counts[1] = 3;  // as many in all
    const std::vector<int> mine(counts[static_cast<std::size_t>(world.rank())]);
    std::vector<int> all(4 * counts.size());
    try {
      spoiled.allgatherv(mine, all, {counts});
      ADD_FAILURE() << "rank " << world.rank();
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::mismatch || error.code() == ErrorCode::aborted) << error.what();
    }
    world.barrier();  // nobody leaves before all have heard of it
  });
}

// Bits, not values: by flags and by schedules. Integers do not depend on the association.
TEST_P(Numeric, FlagsAndSchedulesGiveTheSameBits) {
  using Results = std::vector<std::vector<std::uint64_t>>;  // by rank
  const auto results = [&](const char* rules) {
    Results all(static_cast<std::size_t>(GetParam()));
    run(
        [&](Communicator& world) {
          std::mt19937_64 random(static_cast<std::uint64_t>(world.rank()));
          std::vector<std::uint64_t>& mine = all[static_cast<std::size_t>(world.rank())];
          for (int type = 0; type <= static_cast<int>(DataType::uint64); ++type)
            for (int op = 0; op <= static_cast<int>(ReduceOp::avg); ++op)
              for (std::size_t count = 1; count <= 64 / size_of(static_cast<DataType>(type)); ++count) {
                std::uint64_t in[8], out[8] = {};
                for (auto& word : in) word = random();
                world.collective({.collective = Collective::allreduce,
                                  .send = in,
                                  .recv = out,
                                  .count = count,
                                  .type = static_cast<DataType>(type),
                                  .op = static_cast<ReduceOp>(op)});
                mine.insert(mine.end(), std::begin(out), std::end(out));
              }
        },
        {{"ALGO", rules}});
    return all;
  };
  const Results by_flags = results(""), by_schedules = results("^flags");
  EXPECT_TRUE(by_flags == by_schedules);
  for (const auto& of_rank : by_flags) EXPECT_TRUE(of_rank == by_flags.front());
}

// Sleepers must be woken: each lost wake-up costs 100 ms here.
TEST_P(Numeric, FlagsWakeThoseWhoSleep) {
  constexpr int calls = 60;
  const auto start = std::chrono::steady_clock::now();
  run(
      [](Communicator& world) {
        for (int i = 0; i < calls; ++i) {
          if (i % world.size() == world.rank()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
          world.barrier();
        }
      },
      {{"WAIT", "sleep"}});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(calls * 90));
}

TEST_P(Numeric, FlagsOfSeveralThreadsAndCommunicators) {
  runtime::run_local_ranks(
      GetParam(),
      [](Context& context) {
        Communicator world = context.world();
        std::vector<std::thread> threads;
        for (int t = 0; t < 3; ++t)
          threads.emplace_back([mine = t == 0 ? world.dup() : world.split(world.rank() % t)]() mutable {
            for (int i = 0; i < 500; ++i) {
              std::int64_t sum_of_ranks = mine.rank();
              mine.allreduce(sum_of_ranks, sum);
              ASSERT_EQ(sum_of_ranks, mine.size() * (mine.size() - 1) / 2);
              if (i % 50 == 0) mine.barrier();
            }
          });
        for (std::thread& thread : threads) thread.join();
      },
      ContextOptions{.threads = ThreadMode::multiple, .set = {}});
}

// Communicators that go soon after they were made, at every stage of the setup.
TEST_P(Numeric, ShortLivedCommunicatorsWithFlags) {
  run([](Communicator& world) {
    for (int i = 0; i < 60; ++i) {
      Communicator child = i % 2 == 0 ? world.dup() : world.split(world.rank() % 2);
      for (int call = 0; call < i % 7; ++call) {
        int largest = child.rank();
        child.allreduce(largest, max);
        ASSERT_EQ(largest, child.size() - 1);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Numeric, testing::Values(1, 2, 3, 4, 5, 7, 8));

}  // namespace
}  // namespace godwit
