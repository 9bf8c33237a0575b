// Queue pairs that fail for a cause that may pass are replaced: nothing is lost, nothing happens twice.
#include "failures.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

namespace godwit::verbs {
namespace {

struct Two {
  explicit Two(DeviceOf device = roce, Options options = {}) : stage(std::move(options), device) { connect(a, b); }
  Stage stage;
  Node &a = stage.node(0), &b = stage.node(1);
};

std::size_t lost(const Node& node) { return node.count(Kind::peer_lost); }

TEST(Recovery, APortThatComesBackLosesNothing) {
  Two two;
  auto& [stage, a, b] = two;
  const Window window(a, b, 4096);
  send_numbered(stage, a, 1, 0, 5);
  stage.fabric.set_port(stage.port(0), false);
  send_numbered(stage, a, 1, 5, 6);
  std::vector<std::byte> local = pattern(3000, 7);
  for (int i = 0; i < 300; ++i) stage.poll();
  EXPECT_NE(a.endpoint(1).trouble().find("is being rebuilt"), std::string::npos) << a.endpoint(1).trouble();
  WorkRequest request = window.request(Op::put, local);
  EXPECT_EQ(a.endpoint(1).post(std::span(&request, 1)), 0U) << "there is no queue pair now";
  stage.fabric.set_port(stage.port(0), true);
  post_all(a.endpoint(1), std::span(&request, 1), {&a, &b});
  ASSERT_TRUE(stage.poll_until([&] { return a.count(Kind::done) == 1 && b.count(Kind::message) == 6; }));
  expect_numbered(b, 0, 6);
  EXPECT_TRUE(std::ranges::equal(local, std::span(window.memory).first(local.size())));
  EXPECT_EQ(a.endpoint(1).trouble(), "");
  EXPECT_EQ(lost(a) + lost(b), 0U);
  expect_they_talk(stage, a, b);
}

TEST(Recovery, AFatalQueuePairIsReplaced) {
  for (const bool of_sender : {true, false}) {
    Two two(infiniband);
    auto& [stage, a, b] = two;
    send_numbered(stage, a, 1, 0, 40);
    const std::uint32_t before = pair_of(a, 1);
    stage.fabric.fail_pair(of_sender ? before : pair_of(b, 0));
    ASSERT_TRUE(stage.poll_until([&] { return pair_of(a, 1) != before; }));
    send_numbered(stage, a, 1, 40, 80);
    ASSERT_TRUE(stage.poll_until([&] { return b.count(Kind::message) == 80; }));
    expect_numbered(b, 0, 80);
    expect_they_talk(stage, a, b);
    EXPECT_EQ(lost(a) + lost(b), 0U);
  }
}

// Either side has things under way that the other one has got, or not, when both queue pairs are gone.
TEST(Recovery, WhatWasUnderWayBothWaysComesOnce) {
  Two two(infiniband);
  auto& [stage, a, b] = two;
  for (const Hold hold : {Hold::acknowledgements, Hold::everything}) {
    a.received.clear(), b.received.clear();
    stage.fabric.hold(hold);
    send_numbered(stage, a, 1, 0, 20);
    send_numbered(stage, b, 0, 0, 20);
    stage.fabric.fail_pair(pair_of(a, 1));
    stage.fabric.hold(Hold::nothing);
    ASSERT_TRUE(stage.poll_until([&] { return a.count(Kind::message) == 20 && b.count(Kind::message) == 20; }));
    for (int i = 0; i < 200; ++i) stage.poll();
    expect_numbered(a, 1, 20);
    expect_numbered(b, 0, 20);
    expect_they_talk(stage, a, b);
  }
}

TEST(Recovery, OperationsCompleteInOrderAndOnce) {
  for (const Hold hold : {Hold::acknowledgements, Hold::everything}) {
    Two two(infiniband);
    auto& [stage, a, b] = two;
    Window window(a, b, 64 * 64);
    std::vector<std::vector<std::byte>> local;
    for (std::size_t i = 0; i < 30; ++i) local.push_back(pattern(64, i));
    stage.fabric.hold(hold);
    for (std::size_t i = 0; i < local.size(); ++i) {
      WorkRequest request = window.request(i % 5 == 4 ? Op::get : Op::put, local[i], (i % 5 == 4 ? i - 1 : i) * 64);
      request.cookie = i;
      if (i % 5 == 3) request.imm = static_cast<std::uint32_t>(i);
      post_all(a.endpoint(1), std::span(&request, 1), {});
    }
    stage.fabric.fail_pair(pair_of(b, 0));
    stage.fabric.hold(Hold::nothing);
    ASSERT_TRUE(stage.poll_until([&] { return a.count(Kind::done) == local.size() && b.count(Kind::notify) == 6; }));
    for (int i = 0; i < 200; ++i) stage.poll();
    for (std::size_t i = 0; i < local.size(); ++i) {
      Received done;
      ASSERT_TRUE(a.take(Kind::done, done));
      EXPECT_EQ(done.cookie, i);
      EXPECT_EQ(done.status, ErrorCode::ok) << done.detail;
      EXPECT_TRUE(i % 5 != 4 || local[i] == local[i - 1]) << "the get after put " << i - 1;
    }
    EXPECT_EQ(a.received.size(), 0U);
    for (std::uint32_t i = 3; i < 30; i += 5) {
      Received notified;
      ASSERT_TRUE(b.take(Kind::notify, notified));
      EXPECT_EQ(notified.imm, i);
    }
    EXPECT_EQ(b.received.size(), 0U);
  }
}

// What the peer has been told is done is not written again: it may use the place for something else by now.
TEST(Recovery, ANotifiedPutIsNotRepeated) {
  Two two(infiniband);
  auto& [stage, a, b] = two;
  Window window(a, b, 64);
  const std::vector<std::byte> local = pattern(64, 1), own = pattern(64, 2);
  stage.fabric.hold(Hold::acknowledgements);
  EXPECT_TRUE(a.endpoint(1).put(local, window.request(Op::put, {}).remote, 17));
  ASSERT_TRUE(stage.poll_until([&] { return b.count(Kind::notify) == 1; }));
  EXPECT_EQ(window.memory, local);
  window.memory = own;  // without moving: the same bytes of memory
  stage.fabric.fail_pair(pair_of(a, 1));
  stage.fabric.hold(Hold::nothing);
  expect_they_talk(stage, a, b);
  EXPECT_EQ(window.memory, own);
  EXPECT_EQ(b.count(Kind::notify), 1U);
}

// As after the network interface was down: the kernel has entered it anew.
TEST(Recovery, FindsTheGidInAnotherPlace) {
  Two two;
  auto& [stage, a, b] = two;
  send_numbered(stage, a, 1, 0, 5);
  auto gids = roce(0).facts.ports[0].gids;
  gids[1].index = 6;
  stage.fabric.set_gids(stage.port(0), gids);
  send_numbered(stage, a, 1, 5, 10);
  send_numbered(stage, b, 0, 0, 5);
  ASSERT_TRUE(stage.poll_until([&] { return b.count(Kind::message) == 10 && a.count(Kind::message) == 5; }));
  expect_numbered(b, 0, 10);
  expect_numbered(a, 1, 5);
}

constexpr std::array statuses_that_may_pass{IBV_WC_RETRY_EXC_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_RESP_TIMEOUT_ERR,
                                            IBV_WC_WR_FLUSH_ERR};

class CompletionsThatMayPass : public ::testing::TestWithParam<CompletionFailure> {};

TEST_P(CompletionsThatMayPass, AreRecoveredFrom) {
  const auto [opcode, status, executed] = GetParam();
  Two two(infiniband);
  auto& [stage, a, b] = two;
  const Window window(a, b, 64);
  std::vector<std::byte> local = pattern(8, 3);
  send_numbered(stage, a, 1, 0, 10);
  stage.process(0).fail_request(opcode, 1, status, executed);
  WorkRequest request = request_for(opcode, window, local);
  request.cookie = 4711;
  request.signalled = opcode != IBV_WR_SEND;
  post_all(a.endpoint(1), std::span(&request, 1), {&a});
  send_numbered(stage, a, 1, 10 + (opcode == IBV_WR_SEND ? 1 : 0), 30);
  ASSERT_TRUE(stage.poll_until([&] { return b.count(Kind::message) == 30; }));
  ASSERT_TRUE(stage.poll_until([&] { return a.count(Kind::done) == (opcode == IBV_WR_SEND ? 0U : 1U); }));
  for (int i = 0; i < 200; ++i) stage.poll();
  expect_numbered(b, 0, 30);
  EXPECT_EQ(b.count(Kind::notify), opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? 1U : 0U);
  EXPECT_EQ(a.count(Kind::done), opcode == IBV_WR_SEND ? 0U : 1U);
  for (Received done; a.take(Kind::done, done);) EXPECT_EQ(done.status, ErrorCode::ok) << done.detail;
  EXPECT_EQ(lost(a) + lost(b), 0U);
  expect_they_talk(stage, a, b);
}

INSTANTIATE_TEST_SUITE_P(All, CompletionsThatMayPass, ::testing::ValuesIn(failures(statuses_that_may_pass)),
                         [](const auto& failure) { return words(failure.param); });

// --- its ends
// ----------------------------------------------------------------------------------------------------------

TEST(Recovery, EndsWhenThePortDoesNotComeBack) {
  Two two(roce, {{"IB_RECOVERY_TIME", "1"}});
  auto& [stage, a, b] = two;
  send_numbered(stage, a, 1, 0, 5);
  stage.fabric.set_port(stage.port(1), false);
  send_numbered(stage, a, 1, 5, 6);
  const auto begin = std::chrono::steady_clock::now();
  const Received here = expect_one_loss(stage, a, 1);
  const Received there = expect_one_loss(stage, b, 0);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(900));
  for (const Received& loss : {here, there}) {
    EXPECT_EQ(loss.status, ErrorCode::transport);
    for (const char* const words : {"within 1 s", "GODWIT_IB_RECOVERY_TIME", "rank "})
      EXPECT_NE(loss.detail.find(words), std::string::npos) << words << " is not in: " << loss.detail;
  }
  EXPECT_NE(here.detail.find("rank 1"), std::string::npos) << here.detail;
  EXPECT_NE(there.detail.find("rank 0"), std::string::npos) << there.detail;
  expect_numbered(b, 0, 5);
  EXPECT_NE(there.detail.find("rxe0:1: the port is down"), std::string::npos) << there.detail;
}

// What the peer tells, that a queue pair of ours had failed, we know better.
TEST(Recovery, SaysWhatFailedHereWhenThePeerGivesUpFirst) {
  Stage stage({}, roce);
  Node &a = stage.node(0), &b = stage.node(1, {{"IB_RECOVERY_TIME", "1"}});
  connect(a, b);
  stage.fabric.set_port(stage.port(1), false);
  send_numbered(stage, a, 1, 0, 1);
  const Received here = expect_one_loss(stage, a, 1);
  for (const char* const words :
       {"gave the connection up", "what had failed here: RDMA with rank 1", "not acknowledged"})
    EXPECT_NE(here.detail.find(words), std::string::npos) << words << " is not in: " << here.detail;
  expect_one_loss(stage, b, 0);
}

// Both ports are up, but nothing gets through: each fresh queue pair fails, too.
TEST(Recovery, EndsWhenThePathStaysBroken) {
  Two two(roce, {{"IB_RECOVERY_TIME", "1"}});
  auto& [stage, a, b] = two;
  stage.fabric.set_path(stage.port(0), stage.port(1), false);
  send_numbered(stage, b, 0, 0, 1);
  const Received there = expect_one_loss(stage, b, 0);
  EXPECT_NE(there.detail.find("not acknowledged"), std::string::npos) << there.detail;
  expect_one_loss(stage, a, 1);
}

// The peer is alive: its process computes, and has no time for us.
TEST(Recovery, WaitsForAPeerThatComputes) {
  Two two(infiniband, {{"IB_RECOVERY_TIME", "1"}});
  auto& [stage, a, b] = two;
  send_numbered(stage, a, 1, 0, 5);
  stage.fabric.fail_pair(pair_of(a, 1));
  const auto begin = std::chrono::steady_clock::now();
  until([&, &sender = a] { sender.poll(); },
        [&] { return std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(1500); });
  EXPECT_EQ(lost(a), 0U);
  send_numbered(stage, a, 1, 5, 10);
  ASSERT_TRUE(stage.poll_until([&] { return b.count(Kind::message) == 10; }));
  expect_numbered(b, 0, 10);
}

TEST(Recovery, OfOneSideOnlyIsRefusedInWords) {
  Two two(infiniband);
  auto& [stage, a, b] = two;
  Node& off = stage.node(2, {{"IB_RECOVERY_TIME", "0"}});
  connect(a, off);
  stage.fabric.fail_pair(pair_of(a, 2));
  const Received here = expect_one_loss(stage, a, 2);
  const Received there = expect_one_loss(stage, off, 0);
  for (const Received& loss : {here, there})
    EXPECT_NE(loss.detail.find("GODWIT_IB_RECOVERY_TIME alike"), std::string::npos) << loss.detail;
  expect_they_talk(stage, a, b);
}

TEST(Recovery, AKilledPeerEndsIt) {
  Two two(infiniband);
  auto& [stage, a, b] = two;
  send_numbered(stage, a, 1, 0, 5);
  stage.fabric.set_port(stage.port(1), false);
  send_numbered(stage, a, 1, 5, 6);
  for (int i = 0; i < 300; ++i) stage.poll();
  EXPECT_NE(a.endpoint(1).trouble(), "");
  stage.kill(1);
  const Received loss = expect_one_loss(stage, a, 1);
  EXPECT_EQ(loss.status, ErrorCode::peer_failed);
}

// A wrong key is no matter of queue pairs, whatever else fails meanwhile.
TEST(Recovery, DoesNotHideAWrongKey) {
  Two two(infiniband);
  auto& [stage, a, b] = two;
  const Window window(a, b, 64);
  std::array<std::byte, 8> local{};
  stage.fabric.hold(Hold::everything);
  send_numbered(stage, b, 0, 0, 5);
  WorkRequest request = window.request(Op::put, local);
  request.remote.handle ^= 0x1000;
  post_all(a.endpoint(1), std::span(&request, 1), {});
  stage.fabric.hold(Hold::nothing);
  const Received here = expect_one_loss(stage, a, 1);
  EXPECT_NE(here.detail.find("access"), std::string::npos) << here.detail;
  expect_one_loss(stage, b, 0);
}

// Everything that was sent before the good-bye comes, although the connection fails in between.
TEST(Recovery, GoesBeforeAGoodBye) {
  Two two(infiniband);
  auto& [stage, a, b] = two;
  stage.fabric.hold(Hold::everything);
  send_numbered(stage, a, 1, 0, 10);
  stage.fabric.fail_pair(pair_of(a, 1));
  stage.fabric.hold(Hold::nothing);
  std::atomic<bool> gone = false;
  std::thread leaves([&, &node = a] {
    node.transport->shutdown();
    gone = true;
  });
  until([&, &node = b] { node.poll(); }, [&] { return gone.load(); });
  leaves.join();
  const Received loss = expect_one_loss(stage, b, 0);
  EXPECT_EQ(loss.status, ErrorCode::ok) << loss.detail;
  expect_numbered(b, 0, 10);
}

}  // namespace
}  // namespace godwit::verbs
