// Queue pairs connected by rdma_cm, and each of its steps failing: both sides learn it in words, others go on.
#include "fake_cm.hpp"
#include "stage.hpp"
#include "verbs/transport.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace godwit::verbs {
namespace {

using Step = CmNetwork::Step;

class ByCm : public ::testing::Test {
 protected:
  ByCm() : stage_({}, roce) {}
  Node& node(Rank rank) {
    const Gid ip = fake_verbs::ipv4_gid(fmt::format("10.77.0.{}", rank + 1));
    CmApi& cm = network_.process("rxe0:1", ip, 1);
    Process& api = stage_.process(rank);
    const conformance::TransportCase by_cm{"by_cm",
                                           [&](core::Services& services, Rank its_rank, std::string_view job) {
                                             return std::make_unique<VerbsTransport>(services, its_rank, job, api, cm);
                                           },
                                           [](core::OptionSet& set) { set.add<VerbsOptions>(); },
                                           {{"IB_CONNECT", "rdmacm"}}};
    return stage_.adopt(std::make_unique<Node>(by_cm, rank));
  }
  // Opens one way; what comes is for the test.
  static void open(Node& from, Node& to) { from.open(to.rank, to.card()); }
  static void expect_words(const std::string& text, std::initializer_list<std::string_view> words) {
    for (const std::string_view word : words)
      EXPECT_NE(text.find(word), std::string::npos) << "no '" << word << "' in: " << text;
  }

  CmNetwork network_;  // outlives those who use it
  Stage stage_;
};

TEST_F(ByCm, TwoTalk) {
  Node &a = node(0), &b = node(1);
  connect(a, b);
  expect_they_talk(stage_, a, b);
  Window window(a, b, 4096);
  std::vector<std::byte> data = pattern(4096, 1);
  EXPECT_EQ(execute(a, 1, window.request(Op::put, data), {&b}).status, ErrorCode::ok);
  EXPECT_TRUE(window.memory == data);
  a.transport->shutdown();
  EXPECT_EQ(expect_one_loss(stage_, b, 0).status, ErrorCode::ok) << "it said good-bye";
}

TEST_F(ByCm, BothConnectAtOnce) {
  constexpr Rank ranks = 6;
  for (Rank rank = 0; rank < ranks; ++rank) node(rank);
  for (Rank one = 0; one < ranks; ++one)
    for (Rank other = 0; other < ranks; ++other)
      if (one != other) open(stage_.node(one), stage_.node(other));
  for (Rank rank = 0; rank < ranks; ++rank)
    ASSERT_TRUE(stage_.poll_until([&] { return stage_.node(rank).count(Kind::connected) == ranks - 1U; }));
  for (Rank rank = 1; rank < ranks; ++rank) expect_they_talk(stage_, stage_.node(0), stage_.node(rank));
}

struct Failure {
  const char* name;
  Step step;
  CmNetwork::Fault fault;
  const char* words;
};

class Failing : public ByCm, public ::testing::WithParamInterface<Failure> {};

TEST_P(Failing, IsALossOfThatPeerInWords) {
  const Failure& failure = GetParam();
  Node &a = node(0), &b = node(1), &c = node(2);
  network_.fail(failure.step, failure.fault);
  open(a, b);
  const Received here = expect_one_loss(stage_, a, 1);
  // Where nothing was made yet, it is told to those who ask.
  if (b.count(Kind::peer_lost, 0) == 0) open(b, a);
  const Received there = expect_one_loss(stage_, b, 0);
  EXPECT_EQ(network_.faults_left(), 0U);
  for (const Received* lost : {&here, &there}) {
    EXPECT_EQ(lost->status, ErrorCode::transport);
    expect_words(lost->detail, {"rdma_cm", "Check:"});
  }
  // The other side may only have seen that it was refused.
  expect_words(here.detail + there.detail, {failure.words});
  expect_words(here.detail, {"rank 1"});
  expect_words(there.detail, {"rank 0"});
  connect(a, c);
  connect(c, b);
  expect_they_talk(stage_, a, c);
  expect_they_talk(stage_, c, b);
}

constexpr auto timed_out = -ETIMEDOUT;
INSTANTIATE_TEST_SUITE_P(
    Of, Failing,
    ::testing::Values(
        Failure{"AddressRefused", Step::address, {.error = EADDRNOTAVAIL}, "the address was not resolved"},
        Failure{"Address", Step::address, {0, RDMA_CM_EVENT_ADDR_ERROR, timed_out}, "the address was not resolved"},
        Failure{"RouteRefused", Step::route, {.error = ENETDOWN}, "no route was found"},
        Failure{"Route", Step::route, {0, RDMA_CM_EVENT_ROUTE_ERROR, timed_out}, "no route was found"},
        Failure{"ConnectRefused", Step::connect, {.error = ENETUNREACH}, "the connection could not be made"},
        Failure{"Unreachable", Step::connect, {0, RDMA_CM_EVENT_UNREACHABLE, timed_out}, "the peer did not answer"},
        Failure{"NobodyListens", Step::connect, {0, RDMA_CM_EVENT_REJECTED, 8}, "nobody listens there"},
        Failure{"Removed", Step::connect, {0, RDMA_CM_EVENT_DEVICE_REMOVAL, 0}, "the adapter was removed"},
        Failure{"AcceptRefused", Step::accept, {.error = EINVAL}, "the connection could not be made"},
        Failure{"EstablishRefused", Step::establish, {.error = EINVAL}, "the connection could not be made"}),
    [](const auto& failure) { return std::string(failure.param.name); });

TEST_F(ByCm, TakesAnotherPortWhereOneIsInUse) {
  for (int i = 0; i < 3; ++i) network_.fail(Step::listen, {.error = EADDRINUSE});
  Node &a = node(0), &b = node(1);
  for (int i = 0; i < 3; ++i) network_.fail(Step::connect, {.error = EADDRINUSE});
  connect(a, b);
  expect_they_talk(stage_, a, b);
  EXPECT_EQ(network_.faults_left(), 0U);
}

TEST_F(ByCm, GivesUpWhereAllPortsAreInUse) {
  Node &a = node(0), &b = node(1);
  for (int i = 0; i < 8; ++i) network_.fail(Step::connect, {.error = EADDRINUSE});
  open(a, b);
  expect_words(expect_one_loss(stage_, a, 1).detail, {"rdma_cm", std::strerror(EADDRINUSE)});
}

TEST_F(ByCm, IsMissedInWords) {
  network_.fail(Step::channel, {.error = ENODEV});
  try {
    node(0);
    FAIL() << "it works without rdma_cm";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_supported);
    expect_words(error.what(), {"rdma_cm cannot be used", std::strerror(ENODEV), "rdma_ucm"});
  }
}

// The side channel stays, so that nobody says why.
TEST_F(ByCm, AnEndWithoutAReasonIsALoss) {
  Node &a = node(0), &b = node(1);
  connect(a, b);
  network_.disconnect();
  for (const Received& lost : {expect_one_loss(stage_, a, 1), expect_one_loss(stage_, b, 0)}) {
    EXPECT_EQ(lost.status, ErrorCode::transport);
    expect_words(lost.detail, {"the connection was ended"});
  }
}

// Who connects without having been told to over the side channel.
TEST_F(ByCm, StrangersAreRefused) {
  Node& a = node(0);
  CmApi& stranger = network_.process("rxe0:1", fake_verbs::ipv4_gid("10.77.0.99"), 1);
  rdma_event_channel* const channel = stranger.create_event_channel();
  CmGreeting greeting;
  greeting.from = 1;
  const std::string garbage(sizeof greeting, 'x');
  for (const void* data : {static_cast<const void*>(&greeting), static_cast<const void*>(garbage.data())}) {
    rdma_cm_id* id = nullptr;
    ASSERT_EQ(stranger.create_id(channel, &id), 0);
    sockaddr_in to{};
    to.sin_port = htons(20000);  // the first that listens
    stranger.resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&to), 0);
    rdma_conn_param parameters{};
    parameters.private_data = data;
    parameters.private_data_len = sizeof greeting;
    stranger.connect(id, &parameters);
    int status = 0;
    ASSERT_TRUE(stage_.poll_until([&] {
      rdma_cm_event* event = nullptr;
      if (stranger.get_cm_event(channel, &event) != 0) return false;
      status = event->event == RDMA_CM_EVENT_REJECTED ? event->status : 0;
      stranger.ack_cm_event(event);
      return status != 0;
    }));
    EXPECT_EQ(status, 28);
    stranger.destroy_id(id);
  }
  stranger.destroy_event_channel(channel);
  Node& b = node(1);
  connect(a, b);
  expect_they_talk(stage_, a, b);
}

}  // namespace
}  // namespace godwit::verbs
