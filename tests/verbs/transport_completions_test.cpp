// Completions with errors, lost ones, late ones.
#include "failures.hpp"

#include <fmt/format.h>

#include <set>

namespace godwit::verbs {
namespace {

std::vector<ibv_wc_status> statuses() {
  std::vector<ibv_wc_status> all;
  for (int status = IBV_WC_LOC_LEN_ERR; status <= IBV_WC_GENERAL_ERR; ++status)
    if (status != IBV_WC_WR_FLUSH_ERR) all.push_back(static_cast<ibv_wc_status>(status));
  return all;
}

class Completions : public ::testing::TestWithParam<CompletionFailure> {};

TEST_P(Completions, AreExplainedAndEndTheConnectionOnBothSides) {
  const auto [opcode, status, executed] = GetParam();
  Stage stage(Options{{"IB_RECOVERY_TIME", "0"}});
  Node &a = stage.node(0), &b = stage.node(1), &c = stage.node(2);
  connect(a, b);
  connect(a, c);
  const Window window(a, b, 64);
  std::array<std::byte, 8> local{};
  send_numbered(stage, a, 1, 0, 10);
  stage.process(0).fail_request(opcode, 1, status, executed);
  WorkRequest request = request_for(opcode, window, local);
  request.signalled = false;  // failures come all the same
  request.cookie = 4711;
  post_all(a.endpoint(1), std::span(&request, 1), {&a});
  const Received here = expect_one_loss(stage, a, 1);
  const Received there = expect_one_loss(stage, b, 0);
  for (const Received& lost : {here, there}) {
    EXPECT_EQ(lost.status, ErrorCode::transport);
    for (const std::string& word :
         {fmt::format("status {}", static_cast<int>(status)), std::string(ibv_wc_status_str(status)),
          std::string("here mlx5_0:1"), std::string("there mlx5_0:1"), std::string("pid ")})
      EXPECT_NE(lost.detail.find(word), std::string::npos) << word << " is not in: " << lost.detail;
  }
  EXPECT_NE(here.detail.find("rank 1"), std::string::npos) << here.detail;
  EXPECT_NE(there.detail.find("rank 0"), std::string::npos) << there.detail;
  Received done;
  if (opcode != IBV_WR_SEND) {
    ASSERT_TRUE(a.take(Kind::done, done));
    EXPECT_EQ(done.cookie, 4711U);
    EXPECT_EQ(done.status, ErrorCode::transport);
    EXPECT_EQ(done.detail, here.detail);
  }
  EXPECT_FALSE(a.take(Kind::done, done));
  expect_numbered(b, 0, opcode == IBV_WR_SEND && executed == Executed::yes ? 11 : 10);
  expect_they_talk(stage, a, c);
}

INSTANTIATE_TEST_SUITE_P(All, Completions, ::testing::ValuesIn(failures(statuses())),
                         [](const auto& failure) { return words(failure.param); });

// Nothing of ours had failed before it, and nothing is tried again.
TEST(CompletionsBehindAnError, AFlushThatCameAloneIsExplained) {
  Stage stage(Options{{"IB_RECOVERY_TIME", "0"}});
  Node &a = stage.node(0), &b = stage.node(1);
  connect(a, b);
  const Window window(a, b, 64);
  std::array<std::byte, 8> local{};
  stage.process(0).fail_request(IBV_WR_RDMA_WRITE, 1, IBV_WC_WR_FLUSH_ERR);
  const Received done = execute(a, 1, window.request(Op::put, local));
  EXPECT_EQ(done.status, ErrorCode::transport);
  for (const char* word : {"rank 1", "here mlx5_0:1", "there mlx5_0:1", "not by a request of ours",
                           "refused what the peer", "`dmesg`", "`godwit ibstat`", "GODWIT_IB_RECOVERY_TIME"})
    EXPECT_NE(done.detail.find(word), std::string::npos) << word << " is not in: " << done.detail;
}

// Requests behind the one that fails end, too, with the same words; those before it had succeeded.
TEST(CompletionsBehindAnError, FailInOrder) {
  Stage stage;
  Node &a = stage.node(0), &b = stage.node(1);
  connect(a, b);
  const Window window(a, b, 64);
  std::array<std::byte, 8> local{};
  stage.fabric.hold(Hold::everything);
  stage.process(0).fail_request(IBV_WR_RDMA_WRITE, 3, IBV_WC_REM_ACCESS_ERR);
  for (std::uint64_t i = 0; i < 6; ++i) {
    WorkRequest request = window.request(Op::put, local);
    request.cookie = i;
    post_all(a.endpoint(1), std::span(&request, 1), {});
  }
  stage.fabric.hold(Hold::nothing);
  const Received lost = expect_one_loss(stage, a, 1);
  expect_one_loss(stage, b, 0);
  for (std::uint64_t i = 0; i < 6; ++i) {
    Received done;
    ASSERT_TRUE(a.take(Kind::done, done));
    EXPECT_EQ(done.cookie, i);
    EXPECT_EQ(done.status, i < 2 ? ErrorCode::ok : ErrorCode::transport);
    if (i >= 2) {
      EXPECT_EQ(done.detail, lost.detail);
    }
  }
  EXPECT_EQ(a.received.front().kind, Kind::peer_lost) << "after everything else";
}

// It has returned before it takes effect: only the end of the connection tells.
TEST(ShortPuts, ThatFailEndTheConnectionOnBothSides) {
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{1000}}) {
    Stage stage;
    Node &a = stage.node(0), &b = stage.node(1);
    connect(a, b);
    const Window window(a, b, 1000);
    const core::RemoteAddress remote = window.request(Op::put, {}).remote;
    stage.process(0).fail_request(IBV_WR_RDMA_WRITE, 2, IBV_WC_REM_ACCESS_ERR);
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(a.endpoint(1).put(pattern(bytes, 1), remote, {}));
    const Received here = expect_one_loss(stage, a, 1);
    EXPECT_NE(here.detail.find("remote access error"), std::string::npos) << here.detail;
    expect_one_loss(stage, b, 0);
    EXPECT_EQ(std::vector(window.memory.begin(), window.memory.begin() + static_cast<std::ptrdiff_t>(bytes)),
              pattern(bytes, 1));
  }
}

class ReceiveErrors : public ::testing::TestWithParam<int> {};

TEST_P(ReceiveErrors, EndTheConnectionOnBothSides) {
  const auto status = static_cast<ibv_wc_status>(GetParam());
  Stage stage;
  Node &a = stage.node(0), &b = stage.node(1), &c = stage.node(2);
  connect(a, b);
  connect(c, b);
  send_numbered(stage, a, 1, 0, 10);
  stage.process(1).fail_receive(1, status);
  send_numbered(stage, a, 1, 10, 11);
  const Received here = expect_one_loss(stage, a, 1);
  const Received there = expect_one_loss(stage, b, 0);
  EXPECT_EQ(here.status, ErrorCode::transport);
  EXPECT_EQ(there.status, ErrorCode::transport);
  // Whichever end was faster: the sender's error names the other side of the same failure.
  EXPECT_TRUE(there.detail.find(ibv_wc_status_str(status)) != std::string::npos ||
              there.detail.find("gave the connection up") != std::string::npos)
      << there.detail;
  EXPECT_NE(there.detail.find("rank 0"), std::string::npos) << there.detail;
  EXPECT_NE(here.detail.find("rank 1"), std::string::npos) << here.detail;
  expect_numbered(b, 0, 10);
  expect_they_talk(stage, b, c);
}

INSTANTIATE_TEST_SUITE_P(Of, ReceiveErrors,
                         ::testing::Values(IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_PROT_ERR,
                                           IBV_WC_LOC_ACCESS_ERR, IBV_WC_REM_ABORT_ERR, IBV_WC_FATAL_ERR,
                                           IBV_WC_GENERAL_ERR),
                         [](const auto& status) { return "Status" + std::to_string(status.param); });

// --- lost and late ---------------------------------------------------------------------------------------------------

TEST(LateCompletions, AreTakenInOrder) {
  Stage stage;
  Node &a = stage.node(0), &b = stage.node(1);
  connect(a, b);
  const Window window(a, b, 64);
  std::array<std::byte, 8> local{};
  for (const Rank rank : {0, 1}) stage.process(rank).hold_completions(true);
  send_numbered(stage, a, 1, 0, 20);
  WorkRequest request = window.request(Op::put, local);
  post_all(a.endpoint(1), std::span(&request, 1), {&a});
  for (int i = 0; i < 1000; ++i) stage.poll();
  EXPECT_TRUE(a.received.empty());
  EXPECT_TRUE(b.received.empty());
  for (const Rank rank : {0, 1}) stage.process(rank).hold_completions(false);
  ASSERT_TRUE(stage.poll_until([&] { return a.count(Kind::done) == 1 && b.count(Kind::message) == 20; }));
  expect_numbered(b, 0, 20);
}

// A completion of a later request says that those before it have succeeded.
TEST(LostCompletions, OfARequestIsMadeUpForByTheNext) {
  Stage stage;
  Node &a = stage.node(0), &b = stage.node(1);
  connect(a, b);
  const Window window(a, b, 64);
  std::array<std::array<std::byte, 8>, 3> local{};
  stage.process(0).lose_completion(1);
  for (std::uint64_t i = 0; i < 3; ++i) {
    WorkRequest request = window.request(i == 0 ? Op::get : Op::put, local[i]);
    request.cookie = i;
    post_all(a.endpoint(1), std::span(&request, 1), {&a});
  }
  ASSERT_TRUE(stage.poll_until([&] { return a.count(Kind::done) == 3; }));
  std::set<std::uint64_t> cookies;
  for (Received done; a.take(Kind::done, done); cookies.insert(done.cookie)) EXPECT_EQ(done.status, ErrorCode::ok);
  EXPECT_EQ(cookies, (std::set<std::uint64_t>{0, 1, 2})) << "each once";
}

// The peer said how many frames it had sent: one is missing.
TEST(LostCompletions, OfAReceiveAreFoundByTheGoodBye) {
  Stage stage;
  Node &a = stage.node(0), &b = stage.node(1);
  connect(a, b);
  send_numbered(stage, a, 1, 0, 5);
  ASSERT_TRUE(stage.poll_until([&] { return b.count(Kind::message) == 5; }));
  stage.process(1).lose_completion(1);
  send_numbered(stage, a, 1, 5, 6);
  a.transport->shutdown();
  const Received lost = expect_one_loss(stage, b, 0);
  EXPECT_EQ(lost.status, ErrorCode::transport);
  EXPECT_NE(lost.detail.find("6"), std::string::npos) << lost.detail;
  EXPECT_NE(lost.detail.find("5"), std::string::npos) << lost.detail;
}

}  // namespace
}  // namespace godwit::verbs
