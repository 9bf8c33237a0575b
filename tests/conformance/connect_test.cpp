// Making connections, and who can be reached.
#include "child.hpp"
#include "node.hpp"

#include <csignal>

namespace godwit::conformance {
namespace {

class Connect : public Conformance {};

TEST_P(Connect, PostsNothingBeforeItIsConnected) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  auto& endpoint = a.open(1, b.card());
  const core::WorkRequest request = send_request({});
  std::size_t accepted = 0;
  ASSERT_TRUE(until(
      [&] {
        if (a.count(Kind::connected) == 0) accepted += endpoint.post(std::span(&request, 1));
        a.poll();
      },
      [&] { return a.count(Kind::connected) == 1; }));
  EXPECT_EQ(accepted, 0U);
  EXPECT_NE(endpoint.describe(), "");
}

// One side opens and sends; the other one hears it without having opened, then answers.
TEST_P(Connect, OneSideOpens) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  a.open(1, b.card());
  ASSERT_TRUE(until([&] { a.poll(), b.poll(); }, [&] { return a.count(Kind::connected) == 1; }));
  const core::WorkRequest request = send_request({}, 17);
  post_all(a.endpoint(1), std::span(&request, 1), {&a, &b});
  Received message;
  ASSERT_TRUE(until([&] { b.poll(); }, [&] { return b.take(Kind::message, message); }));
  EXPECT_EQ(message.header.tag, 17);
  EXPECT_EQ(message.peer, 0);
  b.open(0, a.card());
  ASSERT_TRUE(until([&] { a.poll(), b.poll(); }, [&] { return b.count(Kind::connected) == 1; }));
  post_all(b.endpoint(0), std::span(&request, 1), {&a, &b});
  EXPECT_TRUE(until([&] { a.poll(); }, [&] { return a.take(Kind::message, message); }));
}

TEST_P(Connect, BothSidesAtOnce) {
  for (int round = 0; round < 30; ++round) {
    Node a(GetParam(), 0), b(GetParam(), 1);
    const core::Card of_a = a.card(), of_b = b.card();
    const auto talk = [](Node& node, Rank peer, const core::Card& card) {
      node.open(peer, card);
      const core::WorkRequest request = send_request({}, node.rank + 5);
      ASSERT_TRUE(until([&] { node.poll(); }, [&] { return node.count(Kind::connected) == 1; }));
      post_all(node.endpoint(peer), std::span(&request, 1), {&node});
      Received message;
      ASSERT_TRUE(until([&] { node.poll(); }, [&] { return node.take(Kind::message, message); }));
      EXPECT_EQ(message.header.tag, peer + 5);
      EXPECT_EQ(node.count(Kind::peer_lost), 0U);
    };
    std::thread other([&] { talk(b, 0, of_a); });
    talk(a, 1, of_b);
    other.join();
  }
}

TEST_P(Connect, AnEndpointCanBeReplaced) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  connect(a, b);
  a.close_endpoint(1);
  a.open(1, b.card());
  ASSERT_TRUE(until([&] { a.poll(), b.poll(); }, [&] { return a.count(Kind::connected) == 1; }));
  const core::WorkRequest request = send_request({});
  post_all(a.endpoint(1), std::span(&request, 1), {&a, &b});
  EXPECT_TRUE(until([&] { b.poll(); }, [&] { return b.count(Kind::message) == 1; }));
}

TEST_P(Connect, ReachSaysWhy) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  const core::Reach yes = a.reaches(1, b.card());
  EXPECT_TRUE(yes.ok) << yes.reason;
  EXPECT_NE(yes.reason, "");
  core::Card without = b.card();
  without.addresses.clear();
  const core::Reach no = a.reaches(1, without);
  EXPECT_FALSE(no.ok);
  EXPECT_NE(no.reason, "");
  core::Card garbled = b.card();
  garbled.addresses.front().second.resize(3);
  EXPECT_FALSE(a.reaches(1, garbled).ok);
}

TEST_P(Connect, AddressFitsIntoTheCard) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  EXPECT_LE(a.transport->address().size(), 96U);
  EXPECT_NE(a.card().addresses, b.card().addresses);
}

// A stopped peer is slow, not dead.
TEST_P(Connect, WaitsForAStoppedPeer) {
  if (!GetParam().between_processes) GTEST_SKIP() << "one process only";
  Child child([&](Channel& channel) {
    Node node(GetParam(), 1);
    channel.send(node.card().encode());
    return until([&] { node.poll(); }, [&] { return node.count(Kind::message) == 1; }) ? 0 : 1;
  });
  const auto card = core::Card::decode(child.channel().receive());
  child.signal(SIGSTOP);
  Node node(GetParam(), 0);
  node.open(1, card);
  const auto some_time = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  ASSERT_TRUE(until([&] { node.poll(); }, [&] { return std::chrono::steady_clock::now() > some_time; }));
  EXPECT_EQ(node.count(Kind::peer_lost), 0U);
  child.signal(SIGCONT);
  ASSERT_TRUE(until([&] { node.poll(); }, [&] { return node.count(Kind::connected) == 1; }));
  const core::WorkRequest request = send_request({});
  post_all(node.endpoint(1), std::span(&request, 1), {&node});
  EXPECT_EQ(child.wait(), 0);
}

INSTANTIATE_TEST_SUITE_P(Over, Connect, ::testing::ValuesIn(transport_cases()), case_name);

}  // namespace
}  // namespace godwit::conformance
