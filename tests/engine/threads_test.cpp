// ThreadMode::multiple: several threads share a worker. To be run with the thread sanitizer too.
#include <atomic>
#include <thread>

#include "scenario.hpp"

namespace godwit::engine_test {
namespace {

ClusterSettings shared(const char* wait) {
  return {.options = {{"WAIT", wait}, {"EAGER_WINDOW", "64K"}}, .mode = ThreadMode::multiple};
}

void wait(Cluster& cluster, Rank rank, const Pending& pending) {
  if (pending.operation() != nullptr) cluster.worker(rank).wait(*pending.operation());
}

class Threads : public ::testing::TestWithParam<const char*> {};

// Each thread has its tag: pairs of threads play ping-pong over one worker per rank, and all must get on.
TEST_P(Threads, PingPongs) {
  constexpr int pairs = 4, rounds = 60;
  Cluster cluster(shared(GetParam()));
  const auto play = [&](Rank rank, Tag tag) {
    for (std::size_t round = 0; round < rounds; ++round) {
      const std::size_t size = round % 5 == 4 ? 20'000 : round;
      const auto seed = static_cast<std::uint64_t>(tag) * 1000 + round;
      const bool first = rank == 0;
      if (first) {
        const Pending out = cluster.send(rank, 1 - rank, pattern(size, seed), tag);
        wait(cluster, rank, out);
      }
      Pending in = cluster.recv(rank, 1 - rank, size, tag);
      wait(cluster, rank, in);
      ASSERT_EQ(in.status(), ErrorCode::ok);
      ASSERT_TRUE(in.buffer() == pattern(size, seed));
      if (!first) {
        const Pending out = cluster.send(rank, 1 - rank, pattern(size, seed), tag);
        wait(cluster, rank, out);
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (Tag tag = 0; tag < pairs; ++tag)
      for (const Rank rank : {0, 1}) threads.emplace_back(play, rank, tag);
  }
  cluster.expect_clean();
}

// Threads that test instead of waiting complete others' operations, whose owners sleep.
TEST_P(Threads, SomeTestWhileOthersWait) {
  Cluster cluster(shared(GetParam()));
  std::atomic<bool> stop{false};
  {
    std::vector<std::jthread> threads;
    for (const Rank rank : {0, 1})
      threads.emplace_back([&cluster, &stop, rank] {
        while (!stop.load()) {
          {
            const auto lock = cluster.worker(rank).lock();
            cluster.worker(rank).progress();
          }
          std::this_thread::yield();
        }
      });
    for (int round = 0; round < 100; ++round) {
      Pending in = cluster.recv(1, 0, 500, round);
      std::jthread waiter([&] { wait(cluster, 1, in); });
      const Pending out = cluster.send(0, 1, pattern(500, 1), round);
      wait(cluster, 0, out);
      waiter.join();
      ASSERT_EQ(in.buffer(), pattern(500, 1));
    }
    stop = true;
  }
}

// A notification is no operation: whoever waits for it must be woken by it.
TEST_P(Threads, WaitForANotificationWhileAnotherThreadLeads) {
  Cluster cluster(shared(GetParam()));
  Exposed window(cluster, 1, 100);
  core::Worker& target = cluster.worker(1);
  Pending never = cluster.recv(1, 0, 10, 77);
  const Bytes data = pattern(10, 1);
  {
    std::jthread leader([&] { wait(cluster, 1, never); });
    for (int round = 0; round < 50; ++round) {
      std::jthread waiter([&] {
        target.wait_until([&] { return target.regions().find(window.slot())->take(3, 1); },
                          [] { return std::string("a notification"); });
      });
      Pending put;
      {
        const auto lock = cluster.worker(0).lock();
        put = Pending(cluster.worker(0), cluster.worker(0).post_put(window.remote, data, 0, std::uint16_t{3}));
      }
      wait(cluster, 0, put);
    }
    wait(cluster, 0, cluster.send(0, 1, pattern(10, 1), 77));
  }
}

// Flushes, failures from other threads and reports while others wait.
TEST_P(Threads, AFailureReachesEveryWaiter) {
  Cluster cluster(shared(GetParam()));
  std::vector<Pending> pending;
  for (Tag tag = 0; tag < 6; ++tag) pending.push_back(cluster.recv(0, 1, 10, tag));
  std::vector<std::jthread> threads;
  for (Pending& one : pending) threads.emplace_back([&] { wait(cluster, 0, one); });
  cluster.worker(0).request_report();
  cluster.worker(0).notify_peer_failed(1, "the launcher says so");
  threads.clear();
  for (const Pending& one : pending) EXPECT_EQ(one.status(), ErrorCode::peer_failed);
}

TEST_P(Threads, AnAbortByAnotherThreadReachesTheSleeper) {
  Cluster cluster(shared(GetParam()));
  const Pending in = cluster.recv(0, 1, 10);
  std::jthread waiter([&] { wait(cluster, 0, in); });
  {
    const auto lock = cluster.worker(0).lock();
    cluster.worker(0).abort_group(cluster.world(0), ErrorCode::aborted, "another thread wants it");
  }
  waiter.join();
  EXPECT_EQ(in.status(), ErrorCode::aborted);
}

INSTANTIATE_TEST_SUITE_P(Wait, Threads, ::testing::Values("auto", "yield", "sleep"));

#ifndef NDEBUG
TEST(ThreadModeSingle, ASecondThreadIsFound) {
  Cluster cluster;
  const Pending first = cluster.recv(0, 1, 10);
  std::string words;
  std::jthread([&] {
    try {
      (void)cluster.worker(0).lock();
    } catch (const Error& error) {
      words = error.what();
    }
  }).join();
  EXPECT_NE(words.find("ThreadMode::multiple"), std::string::npos) << words;
}
#endif

}  // namespace
}  // namespace godwit::engine_test
