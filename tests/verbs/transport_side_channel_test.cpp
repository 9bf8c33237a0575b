// The side channel: crossing connects; strangers and broken peers; peers that vanish at each step.
#include "raw_peer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>

namespace godwit::verbs {
namespace {

// --- both at once ----------------------------------------------------------------------------------------------------

TEST(Crossing, AllConnectToAllAtOnce) {
  constexpr Rank ranks = 12;
  for (unsigned round = 0; round < 5; ++round) {
    Stage stage;
    std::vector<std::pair<Rank, Rank>> opens;
    for (Rank one = 0; one < ranks; ++one)
      for (Rank other = 0; other < ranks; ++other)
        if (one != other && stage.node(one).rank == one) opens.emplace_back(one, other);
    std::shuffle(opens.begin(), opens.end(), std::mt19937(round));
    for (const auto& [one, other] : opens) {
      stage.node(one).open(other, stage.node(other).card());
      if (round % 2 != 0) stage.poll();
    }
    ASSERT_TRUE(stage.poll_until([&] {
      return std::ranges::all_of(
          opens, [&](const auto& ends) { return stage.node(ends.first).count(Kind::connected, ends.second) == 1; });
    }));
    for (const auto& [one, other] : opens) send_numbered(stage, stage.node(one), other, 0, 3);
    ASSERT_TRUE(stage.poll_until([&] {
      return std::ranges::all_of(
          opens, [&](const auto& ends) { return stage.node(ends.second).count(Kind::message, ends.first) == 3; });
    }));
    for (Rank rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(stage.node(rank).count(Kind::peer_lost), 0U);
      EXPECT_EQ(stage.node(rank).count(Kind::connected), ranks - 1U);
      EXPECT_EQ(stage.process(rank).counters().queue_pairs, ranks - 1U) << "those that lost are gone";
    }
  }
}

TEST(Crossing, OfTwoFromTwoThreads) {
  Stage stage;
  constexpr int rounds = 200;
  for (int round = 0; round < rounds; ++round) {
    Node &a = stage.node(2 * round % 30), &b = stage.node(2 * round % 30 + 1);
    const core::Card of_a = a.card(), of_b = b.card();
    std::thread other([&] { b.open(a.rank, of_a); });
    a.open(b.rank, of_b);
    other.join();
    ASSERT_TRUE(stage.poll_until([&] { return a.count(Kind::connected) + b.count(Kind::connected) == 2; }));
    expect_they_talk(stage, a, b);
    stage.destroy(a.rank);
    stage.destroy(b.rank);
  }
}

const Options impatient{{"IB_CONNECT_TIME", "1"}};

// --- strangers -------------------------------------------------------------------------------------------------------

// Whoever it was, the node goes on with others.
void expect_sound(Stage& stage, Node& node) {
  connect(node, stage.node(9));
  expect_they_talk(stage, node, stage.node(9));
  EXPECT_EQ(node.count(Kind::peer_lost), 0U);
}

TEST(Strangers, GarbageIsDropped) {
  Stage stage;
  Node& node = stage.node(0);
  std::mt19937 random(11);
  for (int i = 0; i < 50; ++i) {
    RawPeer stranger(node);
    std::vector<std::byte> garbage(1 + random() % 5000);
    for (std::byte& byte : garbage) byte = static_cast<std::byte>(random());
    if (i % 2 == 0 && garbage.size() >= sizeof(SideHeader)) {  // of a header that looks right
      const SideHeader header{.bytes = static_cast<std::uint32_t>(random() % longest_side_message),
                              .kind = static_cast<SideMessage>(random() % 4)};
      std::memcpy(garbage.data(), &header, sizeof header);
    }
    stranger.send(garbage);
  }
  expect_sound(stage, node);
}

TEST(Strangers, WhatDoesNotBelongHereIsRefused) {
  Stage stage;
  Node& node = stage.node(0);
  const auto refused = [&](const auto& change) {
    Hello hello = hello_of(5, 0);
    change(hello);
    RawPeer stranger(node);
    stranger.send(hello);
    stranger.expect_end();
  };
  refused([](Hello& hello) { ++hello.job; });
  refused([](Hello& hello) { hello.to = 1; });
  refused([](Hello& hello) { hello.from = 0; });
  refused([](Hello& hello) { hello.from = -7; });
  expect_sound(stage, node);
}

TEST(Strangers, MessagesOutOfPlaceAreRefused) {
  Stage stage;
  Node& node = stage.node(0);
  const Bye bye{12};
  const std::vector<std::pair<SideMessage, std::span<const std::byte>>> messages{
      {SideMessage::hello, bytes_of("short")},
      {SideMessage::ready, {}},
      {SideMessage::bye, std::as_bytes(std::span(&bye, 1))},
      {SideMessage::failed, bytes_of("I never said hello")}};
  for (const auto& [kind, bytes] : messages) {
    RawPeer stranger(node);
    stranger.send(kind, bytes);
    stranger.expect_end();
  }
  RawPeer oversized(node);
  const SideHeader header{.bytes = longest_side_message + 1, .kind = SideMessage::failed};
  oversized.send(std::as_bytes(std::span(&header, 1)));
  oversized.expect_end();
  RawPeer of_tomorrow(node);
  const SideHeader other{.bytes = 0, .kind = SideMessage::ready, .version = protocol_version + 1};
  of_tomorrow.send(std::as_bytes(std::span(&other, 1)));
  of_tomorrow.expect_end();
  expect_sound(stage, node);
}

TEST(Strangers, HalfAMessageBlocksNobody) {
  Stage stage;
  Node& node = stage.node(0);
  RawPeer silent(node), half(node), unfinished(node);
  const SideHeader header{.bytes = sizeof(Hello), .kind = SideMessage::hello};
  half.send(std::as_bytes(std::span(&header, 1)).first(3));
  unfinished.send(std::as_bytes(std::span(&header, 1)));
  expect_sound(stage, node);
}

TEST(Strangers, WhoDoesNotIntroduceItselfIsDropped) {
  Stage stage(impatient);
  Node& node = stage.node(0);
  RawPeer silent(node), half(node), endless(node);
  half.send(bytes_of("GV"));
  const SideHeader header{.bytes = longest_side_message, .kind = SideMessage::hello};
  endless.send(std::as_bytes(std::span(&header, 1)));
  endless.send(std::vector<std::byte>(longest_side_message - 1));
  for (RawPeer* stranger : {&silent, &half, &endless}) stranger->expect_end();
  expect_sound(stage, node);
}

// An impostor, or a connection that crossed ours: the one that works stays.
TEST(Strangers, ASecondConnectionOfAPeerChangesNothing) {
  Stage stage;
  Node &a = stage.node(0), &b = stage.node(1);
  connect(a, b);
  RawPeer second(b);
  second.send(hello_of(0, 1));
  for (int i = 0; i < 100; ++i) stage.poll();
  expect_they_talk(stage, a, b);
  second.close();
  expect_they_talk(stage, a, b);
  EXPECT_EQ(b.count(Kind::peer_lost), 0U);
}

// --- peers that vanish, as those who connect -------------------------------------------------------------------------

enum class Until : int { hello, answer, ready, garbage, failure, wrong_hello, short_bye };

class Vanishing : public ::testing::TestWithParam<Until> {};

TEST_P(Vanishing, IsALossOnce) {
  const Until end = GetParam();
  Stage stage;
  Node& node = stage.node(0);
  expect_sound(stage, node);
  RawPeer peer(node);
  peer.send(hello_of(5, 0));
  if (end != Until::hello) peer.expect(SideMessage::hello);
  if (end > Until::answer) peer.send(SideMessage::ready);
  if (end == Until::garbage) peer.send(bytes_of("garbage and more of it"));
  if (end == Until::failure) peer.send(SideMessage::failed, bytes_of("the moon is full"));
  if (end == Until::wrong_hello) peer.send(hello_of(5, 0));
  if (end == Until::short_bye) peer.send(SideMessage::bye, bytes_of("bye"));
  if (end <= Until::ready) peer.close();
  const Received lost = expect_one_loss(stage, node, 5);
  EXPECT_NE(lost.status, ErrorCode::ok);
  EXPECT_NE(lost.detail.find("rank 5 (elsewhere, pid 4711)"), std::string::npos) << lost.detail;
  if (end == Until::failure) {
    EXPECT_NE(lost.detail.find("the moon is full"), std::string::npos) << lost.detail;
  }
  EXPECT_EQ(stage.process(0).counters().queue_pairs, 1U);
  expect_they_talk(stage, node, stage.node(9));
}

INSTANTIATE_TEST_SUITE_P(After, Vanishing,
                         ::testing::Values(Until::hello, Until::answer, Until::ready, Until::garbage, Until::failure,
                                           Until::wrong_hello, Until::short_bye),
                         [](const auto& end) { return fmt::format("Step{}", static_cast<int>(end.param)); });

// --- and as those who are connected to -------------------------------------------------------------------------------

class VanishingServer : public ::testing::TestWithParam<Until> {};

TEST_P(VanishingServer, IsALossOnce) {
  const Until end = GetParam();
  Stage stage;
  Node& node = stage.node(0);
  expect_sound(stage, node);
  RawListener listener;
  core::Endpoint& endpoint = node.open(5, listener.card(node));
  RawPeer peer = listener.accept();
  if (end != Until::hello) peer.expect(SideMessage::hello);
  if (end == Until::garbage) peer.send(bytes_of("garbage and more of it"));
  if (end == Until::failure) peer.send(SideMessage::failed, bytes_of("the moon is full"));
  if (end == Until::wrong_hello) peer.send(hello_of(6, 0));
  if (end == Until::short_bye) peer.send(SideMessage::bye, bytes_of("bye"));
  if (end == Until::ready) {
    peer.send(hello_of(5, 0));
    peer.expect(SideMessage::ready);
  }
  if (end <= Until::ready) peer.close();
  const Received lost = expect_one_loss(stage, node, 5);
  EXPECT_NE(lost.status, ErrorCode::ok);
  EXPECT_NE(lost.detail.find("rank 5"), std::string::npos) << lost.detail;
  if (end == Until::failure) {
    EXPECT_NE(lost.detail.find("the moon is full"), std::string::npos) << lost.detail;
  }
  // Posting says why, too.
  WorkRequest request = send_request({}, 1);
  request.cookie = 5;
  EXPECT_EQ(endpoint.post(std::span(&request, 1)), 1U);
  Received done;
  ASSERT_TRUE(stage.poll_until([&] { return node.take(Kind::done, done); }));
  EXPECT_EQ(done.detail, lost.detail);
  EXPECT_EQ(stage.process(0).counters().queue_pairs, 1U);
  expect_they_talk(stage, node, stage.node(9));
}

INSTANTIATE_TEST_SUITE_P(After, VanishingServer,
                         ::testing::Values(Until::hello, Until::answer, Until::ready, Until::garbage, Until::failure,
                                           Until::wrong_hello, Until::short_bye),
                         [](const auto& end) { return fmt::format("Step{}", static_cast<int>(end.param)); });

TEST(Server, ThatRefusesIsALoss) {
  Stage stage;
  Node& node = stage.node(0);
  RawListener listener;
  const core::Card card = listener.card(node);
  listener.close();
  node.open(5, card);
  const Received lost = expect_one_loss(stage, node, 5);
  EXPECT_EQ(lost.status, ErrorCode::peer_failed);
  for (const std::string& word : {std::string("rank 5"), fmt::format("127.0.0.1:{}", listener.port()),
                                  std::string("refused"), std::string("GODWIT_SOCKET_IFNAME")})
    EXPECT_NE(lost.detail.find(word), std::string::npos) << word << " is not in: " << lost.detail;
}

void expect_silence(const Received& lost, const char* peer) {
  EXPECT_EQ(lost.status, ErrorCode::peer_failed);
  for (const char* word : {peer, "rank 0 (here, on ", "did not answer", "within 1 s", "GODWIT_IB_CONNECT_TIME", "`ps`"})
    EXPECT_NE(lost.detail.find(word), std::string::npos) << word << " is not in: " << lost.detail;
}

TEST(Server, ThatSaysNothingIsALoss) {
  Stage stage(impatient);
  Node& node = stage.node(0);
  RawListener listener;
  node.open(5, listener.card(node));
  RawPeer silent = listener.accept();
  silent.expect(SideMessage::hello);
  expect_silence(expect_one_loss(stage, node, 5), "rank 5 (");
  EXPECT_EQ(stage.process(0).counters().queue_pairs, 0U);
  connect(node, stage.node(9));
  expect_they_talk(stage, node, stage.node(9));
}

TEST(Server, OfAPeerThatDoesNotConfirmLosesIt) {
  Stage stage(impatient);
  Node& node = stage.node(0);
  RawPeer peer(node);
  peer.send(hello_of(5, 0));
  peer.expect(SideMessage::hello);
  expect_silence(expect_one_loss(stage, node, 5), "rank 5 (elsewhere, pid 4711)");
  EXPECT_EQ(stage.process(0).counters().queue_pairs, 0U);
}

// It accepts and then says nothing: we can leave, and others go on meanwhile.
TEST(Server, ThatSaysNothingBlocksNobody) {
  Stage stage;
  Node& node = stage.node(0);
  RawListener listener;
  node.open(5, listener.card(node));
  RawPeer silent = listener.accept();
  expect_sound(stage, node);
  node.transport->shutdown();
  expect_one_loss(stage, stage.node(9), 0);
}

}  // namespace
}  // namespace godwit::verbs
