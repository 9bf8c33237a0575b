// Good-byes: nothing of what was sent before is missed.
#include "stage.hpp"

#include <random>
#include <thread>

namespace godwit::verbs {
namespace {

// Frames are still on their way when the good-bye comes by the other network.
TEST(GoodBye, WaitsForFramesThatAreOnTheirWay) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    Stage stage;
    Node &a = stage.node(0), &b = stage.node(1);
    connect(a, b);
    stage.fabric.hold(Hold::everything);
    send_numbered(stage, a, 1, 0, 20);
    std::thread leaving([&] { a.transport->shutdown(); });
    std::mt19937 random(seed);
    int steps = 0;
    const auto step = [&] {
      if (stage.fabric.step(random)) ++steps;
      b.poll();
    };
    EXPECT_TRUE(until(step, [&] { return b.count(Kind::peer_lost) == 1; }));
    leaving.join();
    EXPECT_LT(steps, 100) << "who leaves asks once whether all has arrived, not again and again";
    expect_numbered(b, 0, 20);
    EXPECT_EQ(b.received.back().kind, Kind::peer_lost);
    EXPECT_EQ(b.received.back().status, ErrorCode::ok) << b.received.back().detail;
  }
}

// The completions of frames are late, the good-bye is not.
TEST(GoodBye, WaitsForLateCompletions) {
  Stage stage;
  Node &a = stage.node(0), &b = stage.node(1);
  connect(a, b);
  stage.process(1).hold_completions(true);
  send_numbered(stage, a, 1, 0, 20);
  a.transport->shutdown();
  for (int i = 0; i < 100; ++i) b.poll();
  EXPECT_TRUE(b.received.empty());
  stage.process(1).hold_completions(false);
  const Received lost = expect_one_loss(stage, b, 0);
  EXPECT_EQ(lost.status, ErrorCode::ok) << lost.detail;
  expect_numbered(b, 0, 20);
}

// Both leave, with messages to each other that nobody has polled.
TEST(GoodBye, OfBothAtOnce) {
  for (int round = 0; round < 30; ++round) {
    Stage stage;
    Node &a = stage.node(0), &b = stage.node(1);
    connect(a, b);
    send_numbered(stage, a, 1, 0, 5);
    send_numbered(stage, b, 0, 0, 5);
    std::thread other([&] { b.transport->shutdown(); });
    a.transport->shutdown();
    other.join();
    for (int i = 0; i < 20; ++i) stage.poll();
    EXPECT_LE(a.count(Kind::peer_lost), 1U);
    EXPECT_LE(b.count(Kind::peer_lost), 1U);
  }
}

// A peer that never polls does not keep us for ever: what it has no receive for waits, then we go.
TEST(GoodBye, ToAPeerThatConnectsMeanwhile) {
  for (int round = 0; round < 30; ++round) {
    Stage stage;
    Node &a = stage.node(0), &b = stage.node(1);
    b.open(0, a.card());
    if (round % 2 != 0)
      for (int i = 0; i < round; ++i) stage.poll();
    a.transport->shutdown();
    const Received lost = expect_one_loss(stage, b, 0);
    EXPECT_EQ(lost.status, ErrorCode::ok) << lost.detail;
  }
}

// Whoever opens a connection to one that has left is told.
TEST(GoodBye, IsRememberedForThoseWhoComeLater) {
  Stage stage;
  Node &a = stage.node(0), &b = stage.node(1), &c = stage.node(2);
  connect(a, b);
  a.transport->shutdown();
  expect_one_loss(stage, b, 0);
  b.open(0, a.card());
  ASSERT_TRUE(stage.poll_until([&] { return b.count(Kind::peer_lost) == 2; }));
  c.open(0, a.card());
  const Received lost = expect_one_loss(stage, c, 0);
  EXPECT_EQ(lost.status, ErrorCode::ok) << lost.detail;
  expect_they_talk(stage, b, (connect(b, c), c));
}

// The loss of one peer is reported although others flood the queue.
TEST(GoodBye, IsNotDrownedByOthers) {
  Stage stage;
  Node &a = stage.node(0), &b = stage.node(1), &c = stage.node(2);
  connect(a, b);
  connect(a, c);
  b.transport->shutdown();
  const auto flood = [&] {
    for (int i = 0; i < 4; ++i) {
      const WorkRequest request = send_request({}, i);
      c.endpoint(0).post(std::span(&request, 1));
    }
    a.poll(2);
    c.poll();
    if (a.received.size() > 100) std::erase_if(a.received, [](const Received& r) { return r.kind == Kind::message; });
  };
  EXPECT_TRUE(until(flood, [&] { return a.count(Kind::peer_lost, 1) == 1; }));
}

}  // namespace
}  // namespace godwit::verbs
