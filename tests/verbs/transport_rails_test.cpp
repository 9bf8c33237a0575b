// TwoRails ports per host: a connection moves from one to the other when a port, a path, an adapter or a queue fails,
// and back when the port does; nothing is lost, nothing happens twice.
#include "failures.hpp"

#include <array>
#include <chrono>

namespace godwit::verbs {
namespace {

struct TwoRails {
  explicit TwoRails(DevicesOf devices = two_roce, Options options = {}) : stage(std::move(options), devices) {
    connect(a, b);
  }
  // The device of the connection, by position on its host.
  std::size_t device() { return device_of(a, 1).back() == '0' ? 0 : 1; }

  Stage stage;
  Node &a = stage.node(0), &b = stage.node(1);
};

std::size_t lost(const Node& node) { return node.count(Kind::peer_lost); }

// Numbered messages one way, a put, a get and an answer: all over whatever rail there is.
void exchange(TwoRails& two, std::int64_t first, std::int64_t end) {
  auto& [stage, a, b] = two;
  const Window window(a, b, 4096);
  std::vector<std::byte> local = pattern(3000, static_cast<std::size_t>(first)), back(3000);
  send_numbered(stage, a, 1, first, end);
  WorkRequest put = window.request(Op::put, local), get = window.request(Op::get, back);
  post_all(a.endpoint(1), std::span(&put, 1), {&a, &b});
  post_all(a.endpoint(1), std::span(&get, 1), {&a, &b});
  ASSERT_TRUE(stage.poll_until(
      [&] { return a.count(Kind::done) == 2 && b.count(Kind::message) == static_cast<std::size_t>(end); }));
  for (Received done; a.take(Kind::done, done);) EXPECT_EQ(done.status, ErrorCode::ok) << done.detail;
  EXPECT_EQ(back, local);
  EXPECT_EQ(lost(a) + lost(b), 0U);
}

TEST(SeveralRails, BothSidesUseTheSame) {
  for (const DevicesOf devices : {two_infiniband, two_roce}) {
    Stage stage({}, devices);
    std::array<unsigned, 2> used{};
    for (Rank one = 0; one < 3; ++one)
      for (Rank other = 0; other < one; ++other) {
        connect(stage.node(one), stage.node(other));
        const std::string device = device_of(stage.node(one), other);
        EXPECT_EQ(device, device_of(stage.node(other), one));
        ++used[device.back() == '0' ? 0 : 1];
        expect_they_talk(stage, stage.node(one), stage.node(other));
      }
    EXPECT_GT(used[0], 0U) << "of equally near ports each has its share";
    EXPECT_GT(used[1], 0U);
  }
}

TEST(SeveralRails, OneIsEnoughWhereTheOptionSaysSo) {
  TwoRails two(two_roce, {{"IB_RAILS", "1"}});
  EXPECT_EQ(two.device(), 0U);
  EXPECT_EQ(two.stage.process(0).counters().contexts, 1U);
  exchange(two, 0, 5);
}

TEST(SeveralRails, APortThatGoesDownIsLeftAtOnce) {
  for (const Rank whose : {0, 1}) {
    TwoRails two;
    auto& [stage, a, b] = two;
    const std::size_t first = two.device();
    exchange(two, 0, 20);
    stage.fabric.set_port(stage.port(whose, first), false);
    exchange(two, 20, 40);
    EXPECT_NE(two.device(), first) << "whose port: " << whose;
    expect_numbered(b, 0, 40);
    expect_they_talk(stage, a, b);
    // And back.
    stage.fabric.set_port(stage.port(whose, first), true);
    ASSERT_TRUE(stage.poll_until([&] { return two.device() == first && a.endpoint(1).trouble().empty(); }));
    b.received.clear();
    exchange(two, 0, 20);
    EXPECT_EQ(lost(a) + lost(b), 0U);
  }
}

// The port that has gone is not the one in use: nothing happens, also when it comes back.
TEST(SeveralRails, TheOtherPortDoesNotMatter) {
  TwoRails two;
  auto& [stage, a, b] = two;
  const std::size_t first = two.device();
  const std::uint32_t pair = pair_of(a, 1);
  for (const bool up : {false, true}) {
    stage.fabric.set_port(stage.port(0, 1 - first), up);
    for (int i = 0; i < 200; ++i) stage.poll();
    expect_they_talk(stage, a, b);
  }
  EXPECT_EQ(pair_of(a, 1), pair);
}

// Nothing says that the path is broken but the retransmissions that are given up.
TEST(SeveralRails, ABrokenPathIsLeft) {
  TwoRails two;
  auto& [stage, a, b] = two;
  const std::size_t first = two.device();
  stage.fabric.set_path(stage.port(0, first), stage.port(1, first), false);
  exchange(two, 0, 20);
  EXPECT_NE(two.device(), first);
  expect_numbered(b, 0, 20);
}

TEST(SeveralRails, AQueuePairThatFailsMovesToo) {
  TwoRails two(two_infiniband);
  auto& [stage, a, b] = two;
  for (int round = 0; round < 4; ++round) {
    const std::size_t before = two.device();
    b.received.clear();
    exchange(two, 0, 10);
    stage.fabric.fail_pair(round % 2 == 0 ? pair_of(a, 1) : pair_of(b, 0));
    ASSERT_TRUE(stage.poll_until([&] { return two.device() != before && a.endpoint(1).trouble().empty(); }));
    expect_they_talk(stage, a, b);
  }
}

TEST(SeveralRails, WhatWasUnderWayBothWaysComesOnceOverTheOther) {
  for (const Hold hold : {Hold::acknowledgements, Hold::everything}) {
    TwoRails two(two_infiniband);
    auto& [stage, a, b] = two;
    const std::size_t first = two.device();
    const Window window(a, b, 64 * 32);
    std::vector<std::vector<std::byte>> local;
    for (std::size_t i = 0; i < 30; ++i) local.push_back(pattern(i % 3 == 0 ? 8 : 64, i));
    stage.fabric.hold(hold);
    send_numbered(stage, b, 0, 0, 20);
    for (std::size_t i = 0; i < local.size(); ++i) {
      WorkRequest request = window.request(i % 5 == 4 ? Op::get : Op::put, local[i], (i % 5 == 4 ? i - 1 : i) * 64);
      request.cookie = i;
      if (i % 5 == 3) request.imm = static_cast<std::uint32_t>(i);
      post_all(a.endpoint(1), std::span(&request, 1), {});
    }
    stage.fabric.set_port(stage.port(1, first), false);
    stage.fabric.hold(Hold::nothing);
    ASSERT_TRUE(stage.poll_until([&] {
      return a.count(Kind::done) == local.size() && b.count(Kind::notify) == 6 && a.count(Kind::message) == 20;
    }));
    ASSERT_TRUE(stage.poll_until([&] { return two.device() != first && a.endpoint(1).trouble().empty(); }));
    for (int i = 0; i < 200; ++i) stage.poll();
    expect_numbered(a, 1, 20);
    EXPECT_EQ(a.count(Kind::done), local.size());
    EXPECT_EQ(b.count(Kind::notify), 6U);
    for (Received done; a.take(Kind::done, done);) EXPECT_EQ(done.status, ErrorCode::ok) << done.detail;
  }
}

TEST(SeveralRails, BothDownThenOneBack) {
  for (const std::size_t back : {0U, 1U}) {
    TwoRails two;
    auto& [stage, a, b] = two;
    exchange(two, 0, 10);
    for (const std::size_t device : {0U, 1U}) stage.fabric.set_port(stage.port(0, device), false);
    send_numbered(stage, a, 1, 10, 15);
    for (int i = 0; i < 300; ++i) stage.poll();
    EXPECT_NE(a.endpoint(1).trouble(), "");
    stage.fabric.set_port(stage.port(0, back), true);
    exchange(two, 15, 30);
    EXPECT_EQ(two.device(), back);
    expect_numbered(b, 0, 30);
  }
}

// One side has lost one port, the other side the other one: nothing is left that reaches.
TEST(SeveralRails, DifferentPortsDownAtBothEnds) {
  TwoRails two;
  auto& [stage, a, b] = two;
  exchange(two, 0, 10);
  stage.fabric.set_port(stage.port(0, 0), false);
  stage.fabric.set_port(stage.port(1, 1), false);
  send_numbered(stage, a, 1, 10, 15);
  for (int i = 0; i < 300; ++i) stage.poll();
  EXPECT_NE(a.endpoint(1).trouble(), "");
  stage.fabric.set_port(stage.port(1, 1), true);
  exchange(two, 15, 30);
  EXPECT_EQ(two.device(), 1U);
  expect_numbered(b, 0, 30);
}

TEST(SeveralRails, EndWhenNoneComesBack) {
  TwoRails two(two_roce, {{"IB_RECOVERY_TIME", "1"}});
  auto& [stage, a, b] = two;
  for (const std::size_t device : {0U, 1U}) stage.fabric.set_port(stage.port(1, device), false);
  send_numbered(stage, a, 1, 0, 1);
  expect_one_loss(stage, a, 1);
  const Received there = expect_one_loss(stage, b, 0);
  for (const char* const words : {"rxe0:1: the port is down", "rxe1:1: the port is down", "within 1 s"})
    EXPECT_NE(there.detail.find(words), std::string::npos) << words << " is not in: " << there.detail;
}

TEST(SeveralRails, ARemovedAdapterIsLeft) {
  for (const Rank whose : {0, 1}) {
    TwoRails two(two_infiniband);
    auto& [stage, a, b] = two;
    const std::size_t first = two.device();
    exchange(two, 0, 20);
    stage.fabric.remove_device(stage.port(whose, first).host, stage.port(whose, first).device);
    exchange(two, 20, 40);
    EXPECT_NE(two.device(), first);
    expect_numbered(b, 0, 40);
    // Later ones use the rest.
    Node& c = stage.node(2);
    connect(stage.node(whose), c);
    EXPECT_NE(device_of(stage.node(whose), 2), "mlx5_" + std::to_string(first));
    expect_they_talk(stage, stage.node(whose), c);
  }
}

TEST(SeveralRails, ACompletionQueueThatFailsIsLeft) {
  TwoRails two(two_infiniband);
  auto& [stage, a, b] = two;
  const std::size_t first = two.device();
  exchange(two, 0, 20);
  stage.fabric.fail_queue(stage.completion_queue_of(0, pair_of(a, 1)));
  exchange(two, 20, 40);
  EXPECT_NE(two.device(), first);
  expect_numbered(b, 0, 40);
}

// A port that is down when they meet is not waited for.
TEST(SeveralRails, ConnectOverWhatWorks) {
  for (const std::size_t down : {0U, 1U})
    for (const Rank whose : {0, 1}) {
      Stage stage({}, two_roce);
      Node &a = stage.node(0), &b = stage.node(1);
      stage.fabric.set_port(stage.port(whose, down), false);
      connect(a, b);
      EXPECT_EQ(device_of(a, 1), "rxe" + std::to_string(1 - down));
      expect_they_talk(stage, a, b);
    }
}

TEST(SeveralRails, ConnectAlthoughAllAreDown) {
  Stage stage({}, two_roce);
  Node &a = stage.node(0), &b = stage.node(1);
  for (const std::size_t device : {0U, 1U}) stage.fabric.set_port(stage.port(1, device), false);
  connect(a, b);
  send_numbered(stage, a, 1, 0, 5);
  for (int i = 0; i < 200; ++i) stage.poll();
  stage.fabric.set_port(stage.port(1, 1), true);
  ASSERT_TRUE(stage.poll_until([&] { return b.count(Kind::message) == 5; }));
  expect_numbered(b, 0, 5);
}

TEST(SeveralRails, ConnectWithDifferentPortsDown) {
  Stage stage({}, two_roce);
  Node &a = stage.node(0), &b = stage.node(1);
  stage.fabric.set_port(stage.port(0, 0), false);
  stage.fabric.set_port(stage.port(1, 1), false);
  connect(a, b);
  send_numbered(stage, a, 1, 0, 5);
  for (int i = 0; i < 200; ++i) stage.poll();
  stage.fabric.set_port(stage.port(0, 0), true);
  ASSERT_TRUE(stage.poll_until([&] { return b.count(Kind::message) == 5; }));
  expect_numbered(b, 0, 5);
}

// Hosts with one and with two.
TEST(SeveralRails, FewerAtOneEnd) {
  for (const bool first : {true, false}) {
    Stage stage({}, first ? +[](Rank rank) {
      Devices all = two_infiniband(rank);
      if (rank == 1) all.pop_back();
      return all;
    } : +[](Rank rank) {
      Devices all = two_infiniband(rank);
      if (rank == 1) all.erase(all.begin());
      return all;
    });
    Node &a = stage.node(0), &b = stage.node(1), &c = stage.node(2);
    connect(a, b);
    connect(a, c);
    expect_they_talk(stage, a, b);
    expect_they_talk(stage, a, c);
    const std::string to_b = device_of(a, 1);
    stage.fabric.set_port({"node0", to_b, 1}, false);
    send_numbered(stage, a, 1, 0, 1);
    expect_they_talk(stage, a, c);
    EXPECT_NE(a.endpoint(1).trouble(), "") << "there is no other way to this one";
    stage.fabric.set_port({"node0", to_b, 1}, true);
    ASSERT_TRUE(stage.poll_until([&] { return b.count(Kind::message) == 2; }));
    EXPECT_EQ(lost(a) + lost(b) + lost(c), 0U);
  }
}

TEST(SeveralRails, TheOneOfTwoWithAFaultIsLeftOut) {
  Stage stage({}, two_infiniband);
  stage.process(0).fail(Call::create_cq, 2, ENOMEM);
  connect(stage.node(0), stage.node(1));
  EXPECT_EQ(stage.process(0).counters().completion_queues, 1U);
  EXPECT_EQ(device_of(stage.node(0), 1), "mlx5_0");
  expect_they_talk(stage, stage.node(0), stage.node(1));
}

// Peers may reach a word over either adapter, and the two are not atomic to each other.
TEST(SeveralRails, AtomicsNeedOneAdapter) {
  for (const char* const rails : {"1", "2"}) {
    Stage stage({{"IB_RAILS", rails}}, two_infiniband);
    std::array<std::byte, 64> memory{};
    Node& node = stage.node(0);
    const core::Registration registration = node.transport->register_memory(memory, MemoryKind::host);
    EXPECT_EQ(registration.atomics, *rails == '1');
    node.transport->deregister_memory(registration);
  }
}

// What one adapter takes into a work request the other one may not.
TEST(SeveralRails, AgreeOnWhatIsCopiedIntoAWorkRequest) {
  TwoRails two(+[](Rank rank) {
    Devices all = two_infiniband(rank);
    all[static_cast<std::size_t>(rank)].max_inline = 64;
    return all;
  });
  exchange(two, 0, 10);
  two.stage.fabric.set_port(two.stage.port(0, two.device()), false);
  exchange(two, 10, 20);
  expect_numbered(two.b, 0, 20);
}

}  // namespace
}  // namespace godwit::verbs
