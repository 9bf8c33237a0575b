#include "core/service_thread.hpp"

#include <godwit/error.hpp>

#include <gtest/gtest.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <signal.h>
#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

namespace godwit::core {
namespace {

using namespace std::chrono_literals;

TEST(ServiceThread, PostsRunInOrderOnOneOtherThread) {
  ServiceThread service;
  std::vector<int> order;
  std::vector<std::thread::id> ids;
  for (int i = 0; i < 100; ++i)
    service.post([&, i] {
      order.push_back(i);
      ids.push_back(std::this_thread::get_id());
    });
  service.call([] {});
  ASSERT_EQ(order.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  for (const auto id : ids) {
    EXPECT_EQ(id, ids[0]);
    EXPECT_NE(id, std::this_thread::get_id());
  }
}

TEST(ServiceThread, IoIsServed) {
  ServiceThread service;
  std::binary_semaphore ran{0};
  boost::asio::post(service.io(), [&] { ran.release(); });
  ran.acquire();
}

TEST(ServiceThread, CallRethrows) {
  ServiceThread service;
  EXPECT_THROW(service.call([] { throw Error(ErrorCode::timeout, "late"); }), Error);
  int value = 0;
  service.call([&] { value = 1; });  // the thread has survived
  EXPECT_EQ(value, 1);
}

TEST(ServiceThread, CallFromWithinRunsAtOnce) {
  ServiceThread service;
  int value = 0;
  service.call([&] { service.call([&] { value = 1; }); });
  EXPECT_EQ(value, 1);
}

TEST(ServiceThread, CallAfterStopThrows) {
  ServiceThread service;
  service.stop();
  service.stop();
  bool ran = false;
  try {
    service.call([&] { ran = true; });
    FAIL() << "returned";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::cancelled);
  }
  service.post([&] { ran = true; });
  const auto token = service.every(1ms, [&] { ran = true; });
  EXPECT_NE(token, nullptr);
  EXPECT_FALSE(ran);
}

TEST(ServiceThread, EveryRepeatsUntilTheTokenGoes) {
  ServiceThread service;
  std::counting_semaphore<> rounds{0};
  std::atomic<int> count = 0;
  auto token = service.every(1ms, [&] {
    ++count;
    rounds.release();
  });
  for (int i = 0; i < 5; ++i) rounds.acquire();
  token.reset();
  const int after = count;
  // Time for many rounds, had the timer gone on: this thread's own rounds on the same timer queue.
  std::counting_semaphore<> others{0};
  const auto other = service.every(1ms, [&] { others.release(); });
  for (int i = 0; i < 20; ++i) others.acquire();
  EXPECT_EQ(count, after);
}

TEST(ServiceThread, EveryDoesNotRunAtOnce) {
  ServiceThread service;
  bool ran = false;
  const auto token = service.every(1h, [&] { ran = true; });
  service.call([] {});
  service.call([] {});
  EXPECT_FALSE(ran);
}

TEST(ServiceThread, TokenWaitsForARunningCall) {
  ServiceThread service;
  std::binary_semaphore entered{0};
  std::atomic<bool> leaving = false;
  auto token = service.every(1ms, [&] {
    entered.release();
    std::this_thread::sleep_for(50ms);  // longer than the reset below takes to come, if it did not wait
    leaving = true;
  });
  entered.acquire();
  token.reset();
  EXPECT_TRUE(leaving);
}

TEST(ServiceThread, TokenMayGoFromWithin) {
  ServiceThread service;
  std::binary_semaphore done{0};
  int count = 0;
  std::shared_ptr<void> token;
  service.call([&] {  // so that the first round finds the token in place
    token = service.every(1ms, [&] {
      ++count;
      token.reset();
      done.release();
    });
  });
  done.acquire();
  std::counting_semaphore<> others{0};
  const auto other = service.every(1ms, [&] { others.release(); });
  for (int i = 0; i < 10; ++i) others.acquire();
  EXPECT_EQ(count, 1);
}

TEST(ServiceThread, TokenLetsGoOfWhatTheWorkHolds) {
  ServiceThread service;
  auto held = std::make_shared<int>(1);
  auto token = service.every(1h, [held] {});
  service.call([] {});
  EXPECT_EQ(held.use_count(), 2);
  token.reset();
  service.call([] {});  // runs after the release that the token has posted
  service.call([] {});  // and after the aborted wait of the timer
  EXPECT_EQ(held.use_count(), 1);
}

TEST(ServiceThread, TokenMayOutliveTheService) {
  auto held = std::make_shared<int>(1);
  std::shared_ptr<void> token;
  {
    ServiceThread service;
    token = service.every(1ms, [held] {});
    service.call([] {});
  }
  token.reset();
  EXPECT_EQ(held.use_count(), 1);
}

TEST(ServiceThread, DestructionDropsWhatHasNotRun) {
  auto held = std::make_shared<int>(1);
  std::atomic<int> ran = 0;
  {
    ServiceThread service;
    std::binary_semaphore entered{0};
    service.post([&] {
      entered.release();
      std::this_thread::sleep_for(20ms);  // so that the rest is still queued when stop() comes
    });
    entered.acquire();
    for (int i = 0; i < 100; ++i) service.post([&ran, held] { ++ran; });
  }
  EXPECT_EQ(held.use_count(), 1);  // run or dropped: nothing is kept
  EXPECT_LE(ran, 100);
}

// Every call either ran its work or threw; none hangs, whatever the moment of stop().
TEST(ServiceThread, StopRacesWithCallsPostsAndTokens) {
  for (int round = 0; round < 200; ++round) {
    ServiceThread service;
    std::atomic<int> ran = 0;
    int returned = 0, refused = 0;
    std::latch start(4);
    std::jthread caller([&] {
      start.arrive_and_wait();
      for (int i = 0; i < 20; ++i) {
        try {
          service.call([&] { ++ran; });
          ++returned;
        } catch (const Error&) {
          ++refused;
        }
      }
    });
    std::jthread poster([&] {
      start.arrive_and_wait();
      for (int i = 0; i < 20; ++i) service.post([] {});
    });
    std::jthread repeater([&] {
      start.arrive_and_wait();
      for (int i = 0; i < 20; ++i) service.every(0ms, [] {}).reset();
    });
    start.arrive_and_wait();
    if (round % 2) std::this_thread::yield();
    service.stop();
    caller.join();
    EXPECT_EQ(ran, returned);
    EXPECT_EQ(returned + refused, 20);
  }
}

TEST(ServiceThread, SeveralMayStop) {
  for (int round = 0; round < 50; ++round) {
    ServiceThread service;
    std::jthread other([&] { service.stop(); });
    service.stop();
    EXPECT_THROW(service.call([] {}), Error);
  }
}

TEST(ServiceThread, TakesNoSignals) {
  ServiceThread service;
  sigset_t mask;
  sigemptyset(&mask);
  service.call([&] { pthread_sigmask(SIG_SETMASK, nullptr, &mask); });
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM}) EXPECT_EQ(sigismember(&mask, signal), 1);
  sigset_t own;
  pthread_sigmask(SIG_SETMASK, nullptr, &own);
  EXPECT_EQ(sigismember(&own, SIGUSR1), 0);  // the creator's mask is as before
}

}  // namespace
}  // namespace godwit::core
