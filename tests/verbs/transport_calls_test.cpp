// Every call of libibverbs that fails, at its nth use: an error in words, nothing left, others go on.
#include "stage.hpp"

#include <array>

#include <sys/mman.h>

namespace godwit::verbs {
namespace {

constexpr std::array starting_calls{
    Call::get_device_list, Call::open_device,   Call::query_device, Call::query_port, Call::query_gid_table,
    Call::query_pkey,      Call::alloc_pd,      Call::reg_mr,       Call::fork_init,  Call::create_comp_channel,
    Call::create_cq,       Call::create_srq,    Call::create_qp,    Call::modify_qp,  Call::post_srq_recv,
    Call::get_async_event, Call::req_notify_cq, Call::poll_cq};

class Calls : public ::testing::TestWithParam<Call> {
 protected:
  // How often it is called while `work` runs, on rank 0.
  template <class Work>
  static unsigned uses(Call call, Work work) {
    Stage stage;
    const std::uint64_t before = stage.process(0).counters().of(call);
    work(stage);
    return static_cast<unsigned>(stage.process(0).counters().of(call) - before);
  }
};

TEST_P(Calls, FailAtTheStart) {
  const Call call = GetParam();
  const unsigned most = uses(call, [](Stage& stage) { stage.node(0); });
  for (unsigned nth = 1; nth <= most; ++nth) {
    for (const int error : {ENOMEM, EINVAL, EPERM}) {
      Stage stage;
      stage.process(0).fail(call, nth, error);
      try {
        stage.node(0);
      } catch (const Error& failure) {
        const std::string words = failure.what();
        EXPECT_TRUE(words.find("mlx5_0") != std::string::npos || words.find("adapter") != std::string::npos) << words;
        stage.destroy(0);
        EXPECT_TRUE(stage.process(0).leaks().empty()) << "after failure " << nth << ": " << words;
        continue;
      }
      // It could do without: then it works.
      connect(stage.node(0), stage.node(1));
      expect_they_talk(stage, stage.node(0), stage.node(1));
    }
  }
}

// Rank 0 talks to rank 2 all the time, and its call fails while it connects with rank 1: the one that connects is
// `first`. `times`: how many calls fail.
void fail_while_connecting(Call call, unsigned nth, unsigned times, Rank first) {
  SCOPED_TRACE(::testing::Message() << "call " << static_cast<int>(call) << ", use " << nth << ", " << times
                                    << " times, rank " << first << " connects");
  Stage stage;
  Node &a = stage.node(0), &b = stage.node(1), &c = stage.node(2);
  connect(a, c);
  stage.process(0).fail(call, nth, ENOMEM, times);
  Node &one = first == 0 ? a : b, &other = first == 0 ? b : a;
  one.open(other.rank, other.card());
  const auto settled = [](Node& node, Rank peer) {
    return node.count(Kind::connected, peer) + node.count(Kind::peer_lost, peer) > 0;
  };
  ASSERT_TRUE(stage.poll_until([&] { return settled(one, other.rank); }));
  other.received.clear();  // it may know already; who opens is told again
  other.open(one.rank, one.card());
  ASSERT_TRUE(stage.poll_until([&] { return settled(other, one.rank); })) << "the other side was never told";
  if (one.count(Kind::peer_lost) + other.count(Kind::peer_lost) == 0) {
    stage.process(0).fail(call, 1, 0, 0);
    expect_they_talk(stage, a, b);
  } else {
    for (const auto& [node, peer] : {std::pair(&a, 1), std::pair(&b, 0)}) {
      const Received lost = expect_one_loss(stage, *node, peer);
      EXPECT_NE(lost.status, ErrorCode::ok);
      EXPECT_NE(lost.detail.find("mlx5_0"), std::string::npos) << "rank " << node->rank << ": " << lost.detail;
    }
  }
  stage.process(0).fail(call, 1, 0, 0);
  expect_they_talk(stage, a, c);
}

TEST_P(Calls, FailWhileConnecting) {
  const Call call = GetParam();
  if (call == Call::poll_cq || call == Call::post_srq_recv) GTEST_SKIP() << "do not fail on an adapter that lives";
  const unsigned most = uses(call, [](Stage& stage) {
    connect(stage.node(0), stage.node(2));
    connect(stage.node(0), stage.node(1));
  });
  for (const Rank first : {0, 1})
    for (unsigned nth = 1; nth <= std::min(most, 4U); ++nth)
      for (const unsigned times : {1U, 100U}) fail_while_connecting(call, nth, times, first);
}

INSTANTIATE_TEST_SUITE_P(All, Calls, ::testing::ValuesIn(starting_calls),
                         [](const auto& call) { return "Number" + std::to_string(static_cast<int>(call.param)); });

// --- registration ----------------------------------------------------------------------------------------------------

TEST(CallsOfRegistration, AreReportedAndLeaveTheRestAlone) {
  Stage stage;
  Node &a = stage.node(0), &b = stage.node(1);
  connect(a, b);
  std::vector<std::byte> memory(1 << 20);
  stage.process(0).fail(Call::reg_mr, 1, ENOMEM, 2);  // also without write access
  try {
    a.transport->register_memory(memory, MemoryKind::host);
    FAIL() << "it was registered";
  } catch (const Error& error) {
    const std::string words = error.what();
    EXPECT_NE(words.find("mlx5_0"), std::string::npos) << words;
    EXPECT_NE(words.find("1M"), std::string::npos) << words;
  }
  expect_they_talk(stage, a, b);
}

// The local side of a put cannot be registered: this put fails, alone.
TEST(CallsOfRegistration, OfLocalMemoryFailTheOperation) {
  Stage stage;
  Node &a = stage.node(0), &b = stage.node(1);
  connect(a, b);
  const Window window(a, b, 1 << 20);
  std::vector<std::byte> local(1 << 20, std::byte{7});
  stage.process(0).fail(Call::reg_mr, 1, ENOMEM);
  const Received failed = execute(a, 1, window.request(Op::put, local), {&b});
  EXPECT_EQ(failed.status, ErrorCode::no_memory) << failed.detail;
  EXPECT_NE(failed.detail.find("mlx5_0"), std::string::npos) << failed.detail;
  const Received done = execute(a, 1, window.request(Op::put, local), {&b});
  EXPECT_EQ(done.status, ErrorCode::ok) << done.detail;
  EXPECT_TRUE(window.memory == local);
  expect_they_talk(stage, a, b);
}

// Without transfers, too: polling is enough. Where nobody reports unmapping there is no cache to forget it.
TEST(CallsOfRegistration, UnmappedMemoryGoesBackWithoutAnotherRegistration) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "libucm and the thread sanitizer both replace munmap: the process crashes at its end";
#endif
  Stage stage(Options{{"IB_REG_CACHE", "on"}});
  Node& node = stage.node(0);
  constexpr std::size_t bytes = std::size_t{1} << 20;
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const std::uint64_t before = stage.process(0).counters().registered_bytes;
  node.transport->deregister_memory(
      node.transport->register_memory({static_cast<std::byte*>(memory), bytes}, MemoryKind::host));
  const bool cached = stage.process(0).counters().registered_bytes > before;
  ::munmap(memory, bytes);
  if (!cached) GTEST_SKIP() << "no registration cache here";
  node.poll();
  EXPECT_EQ(stage.process(0).counters().registered_bytes, before);
}

// --- the data path ---------------------------------------------------------------------------------------------------

TEST(CallsOfPosting, ARefusedRequestEndsTheConnectionOnBothSides) {
  for (const unsigned nth : {1U, 2U, 9U}) {
    Stage stage;
    Node &a = stage.node(0), &b = stage.node(1), &c = stage.node(2);
    connect(a, b);
    connect(a, c);
    stage.process(0).fail(Call::post_send, nth, ENOMEM);
    send_numbered(stage, a, 1, 0, nth);
    const Received here = expect_one_loss(stage, a, 1);
    const Received there = expect_one_loss(stage, b, 0);
    EXPECT_EQ(here.status, ErrorCode::transport);
    EXPECT_EQ(there.status, ErrorCode::transport);
    EXPECT_NE(here.detail.find("rank 1"), std::string::npos) << here.detail;
    EXPECT_NE(there.detail.find("rank 0"), std::string::npos) << there.detail;
    expect_numbered(b, 0, nth - 1);
    expect_they_talk(stage, a, c);
  }
}

// A receive that is not posted again would be missed one day.
TEST(CallsOfPosting, AReceiveThatIsNotPostedAgainIsAnError) {
  Stage stage;
  Node &a = stage.node(0), &b = stage.node(1);
  connect(a, b);
  stage.process(1).fail(Call::post_srq_recv, 1, EIO);
  send_numbered(stage, a, 1, 0, 1);
  const Received there = expect_one_loss(stage, b, 0);
  EXPECT_NE(there.detail.find("mlx5_0"), std::string::npos) << there.detail;
  expect_one_loss(stage, a, 1);
  expect_numbered(b, 0, 1);
}

TEST(CallsOfPolling, AQueueThatCannotBePolledIsAnError) {
  Stage stage;
  Node &a = stage.node(0), &b = stage.node(1);
  connect(a, b);
  stage.process(1).fail(Call::poll_cq, 1, EIO, 1'000'000'000);
  const Received there = expect_one_loss(stage, b, 0);
  EXPECT_NE(there.detail.find("mlx5_0"), std::string::npos) << there.detail;
  expect_one_loss(stage, a, 1);
}

}  // namespace
}  // namespace godwit::verbs
