// Peers that die, and peers that leave.
#include "child.hpp"
#include "node.hpp"

#include <csignal>

namespace godwit::conformance {
namespace {

class Loss : public Conformance {};

// Connects a child (rank 1) to `node` and lets it send `messages` messages; returns when it has.
struct TalkativeChild {
  TalkativeChild(const TransportCase& transport_case, int messages)
      : child([&transport_case, messages](Channel& channel) {
          Node node(transport_case, 1);
          channel.send(node.card().encode());
          node.open(0, core::Card::decode(channel.receive()));
          if (!until([&] { node.poll(); }, [&] { return node.count(Kind::connected) == 1; })) return 1;
          for (int i = 0; i < messages; ++i) {
            const core::WorkRequest request = send_request({}, i);
            if (!until([&] { node.poll(); }, [&] { return node.endpoint(0).post(std::span(&request, 1)) == 1; }))
              return 2;
          }
          channel.send({std::byte{1}});
          channel.receive();  // until it is told to leave, or killed
          node.transport->shutdown();
          return 0;
        }) {}
  void meet(Node& node) {
    card = core::Card::decode(child.channel().receive());
    child.channel().send(node.card().encode());
  }
  Child child;
  core::Card card;
};

void expect_messages_then_loss(Node& node, int messages, ErrorCode status) {
  ASSERT_TRUE(until([&] { node.poll(); }, [&] { return node.count(Kind::peer_lost) == 1; }));
  for (int i = 0; i < messages; ++i) {
    ASSERT_EQ(node.received.front().kind, Kind::message) << i;
    ASSERT_EQ(node.received.front().header.tag, i);
    node.received.pop_front();
  }
  ASSERT_EQ(node.received.size(), 1U);
  EXPECT_EQ(node.received.front().kind, Kind::peer_lost);
  EXPECT_EQ(node.received.front().status, status);
  EXPECT_EQ(node.received.front().peer, 1);
}

TEST_P(Loss, KilledPeerIsReportedAfterItsMessages) {
  if (!GetParam().between_processes) GTEST_SKIP() << "one process only";
  TalkativeChild talker(GetParam(), 20);
  Node node(GetParam(), 0);
  talker.meet(node);
  ASSERT_FALSE(talker.child.channel().receive().empty());
  const pid_t pid = talker.child.pid();
  talker.child.signal(SIGKILL);
  ASSERT_EQ(talker.child.wait(), -SIGKILL);
  expect_messages_then_loss(node, 20, ErrorCode::peer_failed);
  const std::string& detail = node.received.front().detail;
  EXPECT_NE(detail.find("rank 1"), std::string::npos) << detail;
  EXPECT_NE(detail.find(std::to_string(pid)), std::string::npos) << detail;
}

TEST_P(Loss, GoodByeIsReportedAfterTheMessages) {
  if (!GetParam().between_processes) GTEST_SKIP() << "one process only";
  TalkativeChild talker(GetParam(), 20);
  Node node(GetParam(), 0);
  talker.meet(node);
  ASSERT_FALSE(talker.child.channel().receive().empty());
  talker.child.channel().send({std::byte{1}});
  ASSERT_EQ(talker.child.wait(), 0);
  expect_messages_then_loss(node, 20, ErrorCode::ok);
}

TEST_P(Loss, GoodByeInOneProcess) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  connect(a, b);
  const core::WorkRequest request = send_request({}, 0);
  post_all(b.endpoint(0), std::span(&request, 1), {&a});
  b.transport->shutdown();
  expect_messages_then_loss(a, 1, ErrorCode::ok);
}

// Posting goes on to say why, as completions, and does not block.
TEST_P(Loss, PostsToALostPeerFail) {
  if (!GetParam().between_processes) GTEST_SKIP() << "one process only";
  TalkativeChild talker(GetParam(), 0);
  Node node(GetParam(), 0);
  talker.meet(node);
  node.open(1, talker.card);
  ASSERT_TRUE(until([&] { node.poll(); }, [&] { return node.count(Kind::connected) == 1; }));
  talker.child.signal(SIGKILL);
  talker.child.wait();
  ASSERT_TRUE(until([&] { node.poll(); }, [&] { return node.count(Kind::peer_lost) == 1; }));
  for (const bool signalled : {true, false}) {
    core::WorkRequest request = send_request({}, 0, signalled);
    request.cookie = 77;
    post_all(node.endpoint(1), std::span(&request, 1), {&node});
    Received done;
    ASSERT_TRUE(until([&] { node.poll(); }, [&] { return node.take(Kind::done, done); }));
    EXPECT_EQ(done.status, ErrorCode::peer_failed);
    EXPECT_EQ(done.cookie, 77U);
    EXPECT_NE(done.detail, "");
  }
}

TEST_P(Loss, ConnectingToADeadPeerIsALoss) {
  if (!GetParam().between_processes) GTEST_SKIP() << "one process only";
  Child child([&](Channel& channel) {
    Node node(GetParam(), 1);
    channel.send(node.card().encode());
    channel.receive();
    return 0;
  });
  const auto card = core::Card::decode(child.channel().receive());
  child.signal(SIGKILL);
  child.wait();
  Node node(GetParam(), 0);
  node.open(1, card);
  ASSERT_TRUE(until([&] { node.poll(); }, [&] { return node.count(Kind::peer_lost) == 1; }));
  EXPECT_EQ(node.received.front().status, ErrorCode::peer_failed);
  EXPECT_NE(node.received.front().detail, "");
  EXPECT_EQ(node.count(Kind::connected), 0U);
}

// The one that waits for a wake-up gets the loss too.
TEST_P(Loss, OthersGoOn) {
  Node a(GetParam(), 0), c(GetParam(), 2);
  connect(a, c);
  {
    Node b(GetParam(), 1);
    connect(a, b);
    b.transport->shutdown();
  }
  ASSERT_TRUE(until([&] { a.poll(); }, [&] { return a.count(Kind::peer_lost, 1) == 1; }));
  const core::WorkRequest request = send_request({});
  post_all(a.endpoint(2), std::span(&request, 1), {&a, &c});
  EXPECT_TRUE(until([&] { c.poll(); }, [&] { return c.count(Kind::message) == 1; }));
}

INSTANTIATE_TEST_SUITE_P(Over, Loss, ::testing::ValuesIn(transport_cases()), case_name);

}  // namespace
}  // namespace godwit::conformance
