// Atomics that the peer's adapter executes, also one's own; what becomes of those under way when a queue pair fails.
#include "failures.hpp"

#include <array>
#include <cstring>

namespace godwit::verbs {
namespace {

fake_verbs::DeviceSetup without_atomics(Rank rank) {
  fake_verbs::DeviceSetup device = roce(rank);
  device.facts.atomics = false;
  return device;
}

std::uint64_t word_of(const Window& window) {
  std::uint64_t word = 0;
  std::memcpy(&word, window.memory.data(), sizeof word);
  return word;
}

struct Adder {
  WorkRequest request(const Window& window, std::uint64_t cookie = 0) {
    WorkRequest add = window.request(Op::fetch_add, std::as_writable_bytes(std::span(&before, 1)));
    add.operand = 1;
    add.cookie = cookie;
    return add;
  }
  std::uint64_t before = 77;
};

TEST(Atomics, NeedNoRegistrationAndGiveTheirBufferBack) {
  Stage stage;
  Node &a = stage.node(0), &b = stage.node(1);
  connect(a, b);
  const Window window(a, b, 8);
  Adder adder;
  EXPECT_EQ(execute(a, 1, adder.request(window)).status, ErrorCode::ok);
  const fake_verbs::Counters before = stage.process(0).counters();
  for (std::uint64_t i = 1; i < 3000; ++i) {
    ASSERT_EQ(execute(a, 1, adder.request(window)).status, ErrorCode::ok);
    ASSERT_EQ(adder.before, i);
  }
  EXPECT_EQ(stage.process(0).counters().of(Call::reg_mr), before.of(Call::reg_mr));
  EXPECT_EQ(stage.process(0).counters().of(Call::post_send), before.of(Call::post_send) + 2999) << "one request each";
}

TEST(Atomics, OfTheOwnAdapterAreOneOrderWithThoseOfPeers) {
  for (const DeviceOf device : {infiniband, roce}) {
    Stage stage({}, device);
    Node &a = stage.node(0), &b = stage.node(1);
    connect(a, b);
    EXPECT_TRUE(b.reaches(1, b.card()).ok);
    b.open(1, b.card());
    Received connected;
    ASSERT_TRUE(stage.poll_until([&] { return b.take(Kind::connected, connected, 1); }));
    const Window from_a(a, b, 8), own(b, b, 8);
    const auto shared = [&](WorkRequest request) {
      request.remote = from_a.request(Op::fetch_add, {}).remote;
      return request;
    };
    Adder here, there;
    for (std::uint64_t i = 0; i < 100; i += 2) {
      ASSERT_EQ(execute(a, 1, here.request(from_a)).status, ErrorCode::ok);
      ASSERT_EQ(execute(b, 1, shared(there.request(own))).status, ErrorCode::ok);
      EXPECT_EQ(here.before, i);
      EXPECT_EQ(there.before, i + 1);
    }
    EXPECT_EQ(word_of(from_a), 100U);
    stage.fabric.hold(Hold::everything);
    const WorkRequest request = shared(there.request(own));
    post_all(b.endpoint(1), std::span(&request, 1), {});
    EXPECT_EQ(stage.fabric.pending().size(), 1U) << "it goes through the adapter";
    stage.fabric.hold(Hold::nothing);
    ASSERT_TRUE(stage.poll_until([&] { return b.count(Kind::done, 1) == 1; }));
  }
}

// It is not rebuilt, and says why; other peers are not concerned.
TEST(Atomics, OfTheOwnAdapterEndWithTheirQueuePair) {
  Stage stage;
  Node &a = stage.node(0), &b = stage.node(1);
  connect(a, b);
  b.open(1, b.card());
  ASSERT_TRUE(stage.poll_until([&] { return b.count(Kind::connected, 1) == 1; }));
  const Window own(b, b, 8);
  Adder adder;
  stage.process(1).fail_request(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, IBV_WC_RETRY_EXC_ERR);
  const Received done = execute(b, 1, adder.request(own));
  EXPECT_EQ(done.status, ErrorCode::transport);
  EXPECT_NE(done.detail.find("rank 1"), std::string::npos) << done.detail;
  EXPECT_EQ(expect_one_loss(stage, b, 1).status, ErrorCode::transport);
  expect_they_talk(stage, a, b);
}

TEST(Atomics, WithoutThemThereIsNoAdapterForThem) {
  Stage stage({}, without_atomics);
  Node &a = stage.node(0), &b = stage.node(1);
  connect(a, b);
  EXPECT_EQ(a.endpoint(1).capabilities().atomics, core::AtomicsDomain::none);
  EXPECT_FALSE(a.reaches(0, a.card()).ok);
  std::vector<std::byte> memory(8);
  const core::Registration registration = b.transport->register_memory(memory, MemoryKind::host);
  EXPECT_FALSE(registration.atomics);
  b.transport->deregister_memory(registration);
  const Window window(a, b, 8);
  Adder adder;
  const Received done = execute(a, 1, adder.request(window));
  EXPECT_EQ(done.status, ErrorCode::not_supported);
  EXPECT_NE(done.detail, "");
}

TEST(Atomics, AreNotGrantedOnMemoryThatCannotBeWritten) {
  Stage stage;
  Node& a = stage.node(0);
  stage.process(0).fail(Call::reg_mr, 1, EFAULT);
  std::vector<std::byte> memory(8);
  const core::Registration registration = a.transport->register_memory(memory, MemoryKind::host);
  EXPECT_FALSE(registration.atomics);
  a.transport->deregister_memory(registration);
  const core::Registration writable = a.transport->register_memory(memory, MemoryKind::host);
  EXPECT_TRUE(writable.atomics);
  a.transport->deregister_memory(writable);
}

constexpr std::size_t several = 5;

// Executed or not, and with a later message that shows that it was: in no case again, and never with a result.
TEST(Atomics, UnderWayWhenAQueuePairIsReplacedFailInWords) {
  for (const Hold hold : {Hold::acknowledgements, Hold::everything}) {
    for (const bool followed : {true, false}) {
      Stage stage;
      Node &a = stage.node(0), &b = stage.node(1);
      connect(a, b);
      const Window window(a, b, 8);
      std::array<Adder, several> adders;
      stage.fabric.hold(hold);
      for (std::size_t i = 0; i < several; ++i) {
        const WorkRequest request = adders[i].request(window, i);
        post_all(a.endpoint(1), std::span(&request, 1), {});
      }
      if (followed) send_numbered(stage, a, 1, 0, 1);
      const bool executed = hold == Hold::acknowledgements;
      EXPECT_EQ(word_of(window), executed ? several : 0U);
      stage.fabric.fail_pair(pair_of(a, 1));
      stage.fabric.hold(Hold::nothing);
      ASSERT_TRUE(stage.poll_until([&] { return a.count(Kind::done) == several; }));
      for (std::size_t i = 0; i < several; ++i) {
        Received done;
        ASSERT_TRUE(a.take(Kind::done, done));
        EXPECT_EQ(done.cookie, i);
        EXPECT_EQ(done.status, ErrorCode::transport);
        const char* const words = executed && followed ? "it was executed" : "whether it was executed is not known";
        EXPECT_NE(done.detail.find(words), std::string::npos) << done.detail;
        EXPECT_NE(done.detail.find("rank 1"), std::string::npos) << done.detail;
      }
      EXPECT_EQ(word_of(window), executed ? several : 0U) << "done again";
      Adder later;
      EXPECT_EQ(execute(a, 1, later.request(window), {&b}).status, ErrorCode::ok);
      EXPECT_EQ(later.before, word_of(window) - 1);
      for (const Adder& adder : adders) EXPECT_EQ(adder.before, 77U) << "nothing may be written after the failure";
      expect_they_talk(stage, a, b);
      EXPECT_EQ(a.count(Kind::done) + a.count(Kind::peer_lost) + b.count(Kind::peer_lost), 0U);
    }
  }
}

// Twice in a row, and puts around them are repeated as usual.
TEST(Atomics, FailOnceThoughTheConnectionFailsTwice) {
  Stage stage;
  Node &a = stage.node(0), &b = stage.node(1);
  connect(a, b);
  const Window window(a, b, 64);
  Adder adder;
  std::vector<std::byte> data = pattern(16, 4);
  stage.fabric.hold(Hold::everything);
  WorkRequest put = window.request(Op::put, data, 8);
  put.cookie = 2;
  for (const WorkRequest& request : {adder.request(window, 1), put})
    post_all(a.endpoint(1), std::span(&request, 1), {});
  const std::uint32_t first = pair_of(a, 1);
  stage.fabric.fail_pair(first);
  ASSERT_TRUE(stage.poll_until([&] { return pair_of(a, 1) != first && a.count(Kind::done) == 1; }));
  stage.fabric.fail_pair(pair_of(a, 1));
  stage.fabric.hold(Hold::nothing);
  ASSERT_TRUE(stage.poll_until([&] { return a.count(Kind::done) == 2; }));
  for (int i = 0; i < 200; ++i) stage.poll();
  Received failed, done;
  ASSERT_TRUE(a.take(Kind::done, failed) && a.take(Kind::done, done));
  EXPECT_EQ(failed.cookie, 1U);
  EXPECT_EQ(failed.status, ErrorCode::transport);
  EXPECT_EQ(done.cookie, 2U);
  EXPECT_EQ(done.status, ErrorCode::ok) << done.detail;
  EXPECT_EQ(a.count(Kind::done), 0U);
  EXPECT_EQ(word_of(window), 0U);
  EXPECT_TRUE(std::ranges::equal(data, std::span(window.memory).subspan(8, data.size())));
}

TEST(Atomics, WhoseCompletionFailsAreNotRepeated) {
  for (const auto status : {IBV_WC_RETRY_EXC_ERR, IBV_WC_RESP_TIMEOUT_ERR, IBV_WC_WR_FLUSH_ERR})
    for (const Executed executed : {Executed::no, Executed::yes}) {
      Stage stage;
      Node &a = stage.node(0), &b = stage.node(1);
      connect(a, b);
      const Window window(a, b, 8);
      stage.process(0).fail_request(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, status, executed);
      Adder adder;
      const Received done = execute(a, 1, adder.request(window), {&b});
      EXPECT_EQ(done.status, ErrorCode::transport);
      EXPECT_NE(done.detail.find("not repeated"), std::string::npos) << done.detail;
      EXPECT_EQ(word_of(window), executed == Executed::yes ? 1U : 0U);
      expect_they_talk(stage, a, b);
    }
}

}  // namespace
}  // namespace godwit::verbs
