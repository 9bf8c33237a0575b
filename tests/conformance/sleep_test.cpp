// arm(), event_fd(), disarm(): nobody sleeps through a message.
#include "child.hpp"
#include "node.hpp"

#include <poll.h>

#include <csignal>

namespace godwit::conformance {
namespace {

class Sleep : public Conformance {};

bool readable(int fd, std::chrono::milliseconds timeout) {
  pollfd entry{fd, POLLIN, 0};
  int n = -1;
  do n = ::poll(&entry, 1, static_cast<int>(timeout.count()));
  while (n < 0 && errno == EINTR);
  return n == 1;
}

// Polls; when there is nothing for `spins` polls, sleeps. False: nothing came in a long time.
bool poll_or_sleep(Node& node, int spins) {
  for (int i = 0; i <= spins; ++i)
    if (node.poll() != 0) return true;
  bool woken = true;
  if (node.transport->arm()) {
    woken = readable(node.transport->event_fd(), patience);
    node.transport->disarm();
  }
  return woken;
}

TEST_P(Sleep, ArmRefusesWhenThereIsSomething) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  connect(a, b);
  ASSERT_TRUE(until([&] { b.poll(); }, [&] { return b.transport->arm(); }));
  b.transport->disarm();
  const core::WorkRequest request = send_request({});
  post_all(a.endpoint(1), std::span(&request, 1), {&a});
  ASSERT_TRUE(until([] {}, [&] { return !b.transport->arm() || (b.transport->disarm(), false); }));
  EXPECT_EQ(b.poll(), 1U);
}

TEST_P(Sleep, AMessageMakesTheEventReadable) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  connect(a, b);
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(until([&] { b.poll(); }, [&] { return b.transport->arm(); }));
    EXPECT_FALSE(readable(b.transport->event_fd(), std::chrono::milliseconds(20)));
    const core::WorkRequest request = send_request({});
    post_all(a.endpoint(1), std::span(&request, 1), {&a});
    EXPECT_TRUE(readable(b.transport->event_fd(), patience));
    b.transport->disarm();
    EXPECT_TRUE(until([&] { b.poll(); }, [&] { return b.count(Kind::message) == 1; }));
    b.received.clear();
  }
}

// Both sides go to sleep whenever they can, after a varying number of polls.
TEST_P(Sleep, PingPongLosesNoWakeUp) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  connect(a, b);
  constexpr int rounds = 10000;
  std::atomic<bool> failed{false};
  const auto play = [&](Node& node, Rank peer, bool first) {
    for (int i = 0; i < rounds && !failed; ++i) {
      const core::WorkRequest request = send_request({}, i);
      if (first) post_all(node.endpoint(peer), std::span(&request, 1), {&node});
      while (node.received.empty() && !failed)
        if (!poll_or_sleep(node, i % 7 * 50)) failed = true;
      if (failed) break;
      ASSERT_EQ(node.received.front().header.tag, i);
      node.received.pop_front();
      if (!first) post_all(node.endpoint(peer), std::span(&request, 1), {&node});
    }
  };
  std::thread other([&] { play(b, 0, false); });
  play(a, 1, true);
  other.join();
  EXPECT_FALSE(failed) << "slept through a message";
}

// Several senders, one sleeper: the wake-up of one must not eat that of another.
TEST_P(Sleep, ManySendersLoseNoWakeUp) {
  constexpr int senders = 3, messages = 3000;
  Node receiver(GetParam(), 0);
  std::vector<std::unique_ptr<Node>> nodes;
  for (Rank r = 1; r <= senders; ++r) connect(*nodes.emplace_back(std::make_unique<Node>(GetParam(), r)), receiver);
  std::vector<std::thread> threads;
  std::array<std::atomic<int>, senders + 1> answered{};
  for (auto& node : nodes)
    threads.emplace_back([&, &sender = *node] {
      for (int i = 0; i < messages; ++i) {
        const core::WorkRequest request = send_request({}, i);
        post_all(sender.endpoint(0), std::span(&request, 1), {&sender});
        // The next one goes when this one has been seen: a lost wake-up would stop everything.
        until([] {}, [&] { return answered[static_cast<std::size_t>(sender.rank)] > i; });
      }
    });
  int seen = 0;
  bool awake = true;
  while (seen < senders * messages && awake) {
    awake = poll_or_sleep(receiver, seen % 5 * 20);
    for (Received message; receiver.take(Kind::message, message); ++seen)
      ++answered[static_cast<std::size_t>(message.peer)];
  }
  for (auto& count : answered) count += messages;  // lets everybody go in any case
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(seen, senders * messages);
}

TEST_P(Sleep, ADeathWakes) {
  if (!GetParam().between_processes) GTEST_SKIP() << "one process only";
  Child child([&](Channel& channel) {
    Node node(GetParam(), 1);
    channel.send(node.card().encode());
    until([&] { node.poll(); }, [] { return false; });
    return 0;
  });
  const auto card = core::Card::decode(child.channel().receive());
  Node node(GetParam(), 0);
  node.open(1, card);
  ASSERT_TRUE(until([&] { node.poll(); }, [&] { return node.count(Kind::connected) == 1; }));
  ASSERT_TRUE(until([&] { node.poll(); }, [&] { return node.transport->arm(); }));
  child.signal(SIGKILL);
  EXPECT_TRUE(readable(node.transport->event_fd(), patience));
  node.transport->disarm();
  EXPECT_TRUE(until([&] { node.poll(); }, [&] { return node.count(Kind::peer_lost) == 1; }));
}

TEST_P(Sleep, AConnectionWakes) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  a.open(1, b.card());
  while (a.count(Kind::connected) == 0) {
    if (a.transport->arm()) {
      ASSERT_TRUE(readable(a.transport->event_fd(), patience));
      a.transport->disarm();
    }
    a.poll();
  }
}

INSTANTIATE_TEST_SUITE_P(Over, Sleep, ::testing::ValuesIn(transport_cases()), case_name);

}  // namespace
}  // namespace godwit::conformance
