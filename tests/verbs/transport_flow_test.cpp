// Full queues, exhausted buffers and credits: the sender is held back, nothing is lost, no receive is missing.
#include "stage.hpp"

#include <random>

namespace godwit::verbs {
namespace {

// Posts numbered messages of `bytes` until no more are accepted.
std::int64_t fill(Node& sender, Rank to, std::size_t bytes, std::int64_t number) {
  auto payload = pattern(bytes, 1);
  while (true) {
    const WorkRequest request = send_request(payload, number);
    if (sender.endpoint(to).post(std::span(&request, 1)) == 0) return number;
    ++number;
  }
}

class Flow : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Flow, AReceiverThatDoesNotPollHoldsTheSenderBack) {
  Stage stage;
  Node &a = stage.node(0), &b = stage.node(1);
  connect(a, b);
  std::int64_t sent = fill(a, 1, GetParam(), 0);
  EXPECT_EQ(sent, 32) << "GODWIT_IB_CREDITS";
  for (int i = 0; i < 100; ++i) {
    a.poll();
    ASSERT_EQ(fill(a, 1, GetParam(), sent), sent) << "the receiver has not polled";
  }
  for (int round = 0; round < 200; ++round) {
    stage.poll();
    sent = fill(a, 1, GetParam(), sent);
  }
  EXPECT_GT(sent, 1000);
  ASSERT_TRUE(stage.poll_until([&] { return b.count(Kind::message) == static_cast<std::size_t>(sent); }));
  expect_numbered(b, 0, sent);
  EXPECT_EQ(stage.not_ready(), 0U);
}

// The peer has everything, but the adapter does not say so: the send queue is full.
TEST_P(Flow, AFullSendQueueHoldsTheSenderBack) {
  Stage stage({{"IB_CREDITS", "4096"}, {"IB_SEND_QUEUE", "64"}});
  Node &a = stage.node(0), &b = stage.node(1);
  connect(a, b);
  stage.fabric.hold(Hold::everything);
  std::int64_t sent = fill(a, 1, GetParam(), 0);
  EXPECT_EQ(sent, 64);
  stage.poll();
  EXPECT_EQ(fill(a, 1, GetParam(), sent), sent);
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    stage.fabric.step(random);
    stage.poll();
    sent = fill(a, 1, GetParam(), sent);
  }
  EXPECT_GT(sent, 100);
  stage.fabric.hold(Hold::nothing);
  ASSERT_TRUE(stage.poll_until([&] { return b.count(Kind::message) == static_cast<std::size_t>(sent); }));
  expect_numbered(b, 0, sent);
}

INSTANTIATE_TEST_SUITE_P(Of, Flow, ::testing::Values(0, 100, 1000, 8192),
                         [](const auto& bytes) { return "Bytes" + std::to_string(bytes.param); });

// More peers than the usual receives are for: there is one for each message that they may send, all at once.
TEST(FlowOfPeers, NobodyWaitsForAReceive) {
  constexpr Rank peers = 16;
  constexpr std::size_t usual = 64;
  Stage stage(Options{{"IB_RECEIVES", std::to_string(usual)}});
  Node& hub = stage.node(0);
  for (Rank rank = 1; rank <= peers; ++rank) connect(hub, stage.node(rank));
  std::vector<std::int64_t> sent(peers + 1);
  std::int64_t all = 0;
  for (Rank rank = 1; rank <= peers; ++rank) {
    sent[static_cast<std::size_t>(rank)] = fill(stage.node(rank), 0, 1000, 0);
    EXPECT_GE(sent[static_cast<std::size_t>(rank)], 4);
    all += sent[static_cast<std::size_t>(rank)];
  }
  EXPECT_GT(all, static_cast<std::int64_t>(usual));
  EXPECT_EQ(stage.not_ready(), 0U);
  ASSERT_TRUE(stage.poll_until([&] { return hub.count(Kind::message) == static_cast<std::size_t>(all); }));
  for (Rank rank = 1; rank <= peers; ++rank) expect_numbered(hub, rank, sent[static_cast<std::size_t>(rank)]);
}

TEST(FlowOfBuffers, AllInUseHoldTheSenderBack) {
  Stage stage({{"IB_CREDITS", "4096"}, {"IB_SEND_QUEUE", "4096"}, {"IB_INLINE", "0"}, {"IB_MESSAGE", "512"}});
  Node &a = stage.node(0), &b = stage.node(1);
  connect(a, b);
  stage.fabric.hold(Hold::everything);
  const std::int64_t sent = fill(a, 1, 100, 0);
  EXPECT_EQ(sent, 1024) << "buffers";
  stage.fabric.hold(Hold::nothing);
  std::int64_t more = sent;
  ASSERT_TRUE(stage.poll_until([&] { return (more = fill(a, 1, 100, more)) > sent; }));
  ASSERT_TRUE(stage.poll_until([&] { return b.count(Kind::message) == static_cast<std::size_t>(more); }));
  expect_numbered(b, 0, more);
}

// Without one buffer nothing would ever come back.
TEST(FlowOfBuffers, NoMemoryForTheFirstIsAnError) {
  Stage stage;
  Node &a = stage.node(0), &b = stage.node(1);
  connect(a, b);
  stage.process(0).fail(Call::reg_mr, 1, ENOMEM, 1000);
  auto payload = pattern(5000, 1);
  const WorkRequest request = send_request(payload);
  ASSERT_TRUE(stage.poll_until([&] {
    a.endpoint(1).post(std::span(&request, 1));
    return a.count(Kind::peer_lost) == 1;
  }));
  const Received lost = expect_one_loss(stage, a, 1);
  EXPECT_EQ(lost.status, ErrorCode::no_memory);
  EXPECT_NE(lost.detail.find("ulimit -l"), std::string::npos) << lost.detail;
  expect_one_loss(stage, b, 0);
}

// Notifications cost receives, too.
TEST(FlowOfNotifications, AreHeldBack) {
  Stage stage;
  Node &a = stage.node(0), &b = stage.node(1);
  connect(a, b);
  const Window window(a, b, 64);
  std::uint64_t value = 0;
  std::uint32_t sent = 0;
  const auto put = [&] {
    WorkRequest request = window.request(Op::put, std::as_writable_bytes(std::span(&value, 1)));
    request.imm = sent;
    request.signalled = false;
    if (a.endpoint(1).post(std::span(&request, 1)) == 0) return false;
    ++sent;
    return true;
  };
  while (put()) {
  }
  EXPECT_EQ(sent, 32U);
  ASSERT_TRUE(stage.poll_until([&] {
    while (put()) {
    }
    return sent > 1000;
  }));
  ASSERT_TRUE(stage.poll_until([&] { return b.count(Kind::notify) == sent; }));
  for (std::uint32_t i = 0; i < sent; ++i) EXPECT_EQ(b.received[i].imm, i);
  EXPECT_EQ(stage.not_ready(), 0U);
}

// Each node floods all others and polls little: credits travel in frames of their own and with messages.
TEST(FlowOfCredits, NoReceiveIsMissingWhenAllFloodAll) {
  constexpr Rank ranks = 5;
  for (const char* credits : {"4", "5", "13", "32"}) {
    Stage stage({{"IB_CREDITS", credits}, {"IB_MESSAGE", "512"}});
    for (Rank one = 0; one < ranks; ++one)
      for (Rank other = 0; other < one; ++other) connect(stage.node(one), stage.node(other));
    std::mt19937 random(5);
    std::map<std::pair<Rank, Rank>, std::int64_t> sent;
    for (int round = 0; round < 3000; ++round) {
      const Rank from = static_cast<Rank>(random() % ranks), to = static_cast<Rank>(random() % ranks);
      if (from != to) sent[{from, to}] = fill(stage.node(from), to, random() % 300, sent[{from, to}]);
      stage.node(static_cast<Rank>(random() % ranks)).poll(1 + random() % 32);
    }
    for (const auto& [ends, count] : sent) {
      Node& receiver = stage.node(ends.second);
      ASSERT_TRUE(stage.poll_until(
          [&] { return receiver.count(Kind::message, ends.first) == static_cast<std::size_t>(count); }));
      expect_numbered(receiver, ends.first, count);
    }
    EXPECT_EQ(stage.not_ready(), 0U) << credits << " credits";
  }
}

}  // namespace
}  // namespace godwit::verbs
