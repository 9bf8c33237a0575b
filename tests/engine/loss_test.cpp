// Peers that are lost or leave, and work requests that fail: every operation ends, once, with words.
#include <algorithm>
#include <thread>

#include "scenario.hpp"

namespace godwit::engine_test {
namespace {

class LossOver : public ::testing::TestWithParam<Variant> {};

// Delivers `events` requests, one pass of all ranks after each. False: there were fewer.
bool run_for(Cluster& cluster, std::size_t events) {
  for (std::size_t i = 0; i < events;) {
    if (cluster.fabric().step()) {
      ++i;
      cluster.pass();
      continue;
    }
    if (cluster.pass() == 0 && cluster.pass() == 0 && cluster.pass() == 0 && cluster.fabric().idle()) return false;
  }
  return true;
}

// The connection breaks after each event in turn: both sides live and must notice.
TEST_P(LossOver, CutAfterAnyEvent) {
  std::size_t cuts = 0;
  for (bool more = true; more && !HasFailure(); ++cuts) {
    SCOPED_TRACE("cut after event " + std::to_string(cuts));
    Cluster cluster({.fabric = GetParam().settings(true)});
    if (cuts % 2 == 0) cluster.connect_all();
    Scenario scenario(cluster);
    scenario.post();
    more = run_for(cluster, cuts);
    cluster.fabric().cut(0, 1, ErrorCode::peer_failed);
    cluster.settle();
    scenario.expect_consistent();
    for (const ErrorCode code : scenario.outcomes())
      EXPECT_TRUE(code == ErrorCode::ok || code == ErrorCode::peer_failed);
    EXPECT_TRUE(cluster.worker(0).has_failed(1));
    EXPECT_FALSE(cluster.worker(0).flush(1).ok());
    scenario.clear();
    EXPECT_EQ(cluster.fabric().registrations(), 0U);
    EXPECT_TRUE(cluster.worker(0).describe_all().starts_with("0 pending")) << cluster.worker(0).describe_all();
  }
  EXPECT_GT(cuts, 20U);
}

// The peer dies; what it had sent is delivered first.
TEST_P(LossOver, DeathAfterAnyEvent) {
  for (const Rank dead : {0, 1}) {
    const Rank survivor = 1 - dead;
    std::size_t deaths = 0;
    for (bool more = true; more && !HasFailure(); ++deaths) {
      SCOPED_TRACE("death of rank " + std::to_string(dead) + " after event " + std::to_string(deaths));
      Cluster cluster({.fabric = GetParam().settings(true)});
      cluster.connect_all();
      Scenario scenario(cluster);
      scenario.post();
      more = run_for(cluster, deaths);
      cluster.kill(dead);
      cluster.settle();
      scenario.expect_consistent(survivor);
      EXPECT_TRUE(cluster.worker(survivor).has_failed(dead));
      scenario.clear(dead);
    }
  }
}

// Each accepted request fails in turn. A send breaks the connection; put, get and atomics fail alone.
TEST_P(LossOver, AnyRequestMayFail) {
  std::size_t nth = 0;
  for (; !HasFailure(); ++nth) {
    SCOPED_TRACE("request " + std::to_string(nth) + " fails");
    Cluster cluster({.fabric = GetParam().settings()});
    cluster.connect_all();
    const std::uint64_t before = cluster.fabric().accepted();
    cluster.fabric().fail_request(before + nth, ErrorCode::transport);
    Scenario scenario(cluster);
    scenario.post();
    cluster.settle();
    scenario.expect_consistent();
    if (cluster.fabric().accepted() - before <= nth) break;
    const core::WorkRequest& failed = cluster.fabric().records().at(nth).request;
    if (failed.op == core::Op::send || GetParam().settings().capabilities.put_done == core::PutDone::local) {
      // With locally completed puts one may be done before it fails.
      EXPECT_TRUE(failed.op != core::Op::send || cluster.worker(0).has_failed(1));
    } else {
      EXPECT_FALSE(cluster.worker(0).has_failed(1));
      EXPECT_LE(std::ranges::count_if(scenario.outcomes(), [](ErrorCode code) { return code != ErrorCode::ok; }), 2);
      const Pending in = cluster.recv(1, 0, 10, 99), out = cluster.send(0, 1, pattern(10, 1), 99);
      cluster.settle();
      EXPECT_TRUE(in.done());
    }
    scenario.clear();
    EXPECT_EQ(cluster.fabric().registrations(), 0U);
  }
  EXPECT_GT(nth, 20U);
}

// Each message vanishes in turn, and only its sender is told: the receiver finds the gap with the next one.
TEST_P(LossOver, AnyMessageMayVanish) {
  for (std::size_t nth = 0; !HasFailure(); ++nth) {
    SCOPED_TRACE("request " + std::to_string(nth) + " vanishes");
    Cluster cluster({.fabric = GetParam().settings()});
    cluster.connect_all();
    cluster.fabric().lose_messages_silently();
    const std::uint64_t before = cluster.fabric().accepted();
    cluster.fabric().fail_request(before + nth, ErrorCode::transport);
    Scenario scenario(cluster);
    scenario.post();
    cluster.settle();
    if (cluster.fabric().accepted() - before <= nth) break;
    const Rank sender = cluster.fabric().records().at(nth).from;
    EXPECT_EQ(scenario.undone(sender), "");
    cluster.kill(sender);
    cluster.settle();
    EXPECT_EQ(scenario.undone(1 - sender), "");
    scenario.clear(sender);
  }
}

INSTANTIATE_TEST_SUITE_P(On, LossOver, ::testing::ValuesIn(variants()),
                         [](const auto& variant) { return variant.param.name; });

// --- after a loss ------------------------------------------------------------------------------------------------

TEST(Loss, LaterOperationsFailAndOthersGoOn) {
  Cluster cluster({.ranks = 3});
  cluster.connect_all();
  cluster.kill(1);
  cluster.settle();
  const Pending send = cluster.send(0, 1, pattern(10, 1)), large = cluster.send(0, 1, pattern(100'000, 1));
  const Pending recv = cluster.recv(0, 1, 10), any = cluster.recv(0, any_source, 10);
  const Pending message = cluster.message(0, 1, {}, 3);
  EXPECT_FALSE(send.done()) << "failures are found by waiting, not by posting";
  cluster.settle();
  for (const Pending* failed : {&send, &large, &recv, &any, &message}) {
    ASSERT_TRUE(failed->done());
    EXPECT_EQ(failed->status(), ErrorCode::peer_failed);
    EXPECT_NE(failed->detail().find("rank 1 has died"), std::string::npos) << failed->detail();
  }
  // A communicator without the dead rank is not concerned.
  core::Group& left = cluster.worker(0).add_group(core::make_group(4, 0, {0, 2}));
  core::Group& right = cluster.worker(2).add_group(core::make_group(4, 1, {0, 2}));
  Bytes in(10);
  const Bytes out = pattern(10, 5);
  core::RecvArguments receive;
  receive.group = &right;
  receive.data = in;
  const Pending pending(cluster.worker(2), cluster.worker(2).post_recv(receive));
  core::SendArguments arguments;
  arguments.group = &left;
  arguments.data = out;
  arguments.to = 1;
  const Pending sent(cluster.worker(0), cluster.worker(0).post_send(arguments));
  cluster.settle();
  EXPECT_TRUE(pending.done() && sent.done());
  EXPECT_EQ(pending.status(), ErrorCode::ok);
  EXPECT_EQ(in, out);
  EXPECT_EQ(pending.info().source, 0);
}

// What had arrived before the death is received, whoever asks for it.
TEST(Loss, MessagesOfTheDeadAreStillReceived) {
  Cluster cluster;
  cluster.connect_all();
  const Pending first = cluster.send(1, 0, pattern(10, 1), 1), second = cluster.send(1, 0, pattern(20, 2), 2);
  cluster.kill(1);
  cluster.settle();
  Pending a = cluster.recv(0, any_source, 20, 2), b = cluster.recv(0, 1, 10, 1), none = cluster.recv(0, 1, 10, 1);
  cluster.settle();
  EXPECT_EQ(a.buffer(), pattern(20, 2));
  EXPECT_EQ(b.buffer(), pattern(10, 1));
  EXPECT_EQ(none.status(), ErrorCode::peer_failed);
}

TEST(Loss, TheDeadMayNeverHaveBeenConnected) {
  Cluster cluster;
  cluster.kill(1);
  const Pending send = cluster.send(0, 1, pattern(10, 1));
  const Pending recv = cluster.recv(0, 1, 10);
  cluster.settle();
  EXPECT_EQ(send.status(), ErrorCode::peer_failed);
  EXPECT_EQ(recv.status(), ErrorCode::peer_failed);
}

TEST(Loss, WhileItConnects) {
  Cluster cluster({.fabric = {.manual_connect = true}});
  const Pending send = cluster.send(0, 1, pattern(10, 1)), large = cluster.send(0, 1, pattern(10'000, 1));
  const Pending recv = cluster.recv(0, 1, 10);
  cluster.settle();
  EXPECT_FALSE(send.done() || large.done() || recv.done());
  cluster.worker(0).notify_peer_failed(1, "the launcher says that rank 1 was killed");
  cluster.settle();
  for (const Pending* failed : {&send, &large, &recv}) {
    ASSERT_TRUE(failed->done());
    EXPECT_EQ(failed->status(), ErrorCode::peer_failed);
    EXPECT_NE(failed->detail().find("the launcher says"), std::string::npos) << failed->detail();
  }
  cluster.fabric().connect(0, 1);  // too late
  cluster.settle();
  EXPECT_TRUE(cluster.worker(0).has_failed(1));
  const Pending later = cluster.send(0, 1, pattern(10, 1));
  cluster.settle();
  EXPECT_EQ(later.status(), ErrorCode::peer_failed);
}

// The launcher knows it before the wire does: a buffer belongs to the transport until that gives it back.
TEST(Loss, BuffersAreNotGivenBackWhileTheTransportUsesThem) {
  for (const bool wire_notices : {false, true}) {
    ClusterSettings settings;
    settings.fabric.manual = true;
    settings.fabric.capabilities.max_inline = 0;
    Cluster cluster(settings);
    cluster.connect_all();
    Exposed window(cluster, 1, 5000);
    Bytes result(5000);
    const Pending get(cluster.worker(0), cluster.worker(0).post_get(window.remote, result, 0));
    const Pending eager = cluster.send(0, 1, pattern(100, 1));
    cluster.worker(0).notify_peer_failed(1, "gone");
    cluster.pass();
    cluster.pass();
    EXPECT_FALSE(get.done() || eager.done());
    if (wire_notices) cluster.fabric().cut(0, 1, ErrorCode::peer_failed);
    cluster.settle();
    ASSERT_TRUE(get.done() && eager.done());
    EXPECT_EQ(get.status(), ErrorCode::peer_failed);
    EXPECT_EQ(eager.status(), ErrorCode::peer_failed);
  }
}

TEST(Loss, QueuedRequestsAreDropped) {
  Cluster cluster({.fabric = {.queue_depth = 2}});
  cluster.connect_all();
  cluster.stop(1);
  std::vector<Pending> outs;
  for (std::size_t i = 0; i < 30; ++i) outs.push_back(cluster.send(0, 1, pattern(i % 2 == 0 ? i : i * 1000, i)));
  cluster.settle();
  cluster.worker(0).notify_peer_failed(1, "gone");
  cluster.settle();
  for (const Pending& out : outs) EXPECT_TRUE(out.done());
  EXPECT_TRUE(cluster.worker(0).describe_all().starts_with("0 pending")) << cluster.worker(0).describe_all();
}

// A callback that is told of the failure tries again, while others still wait to be told.
TEST(Loss, CallbacksOfFailuresMayPostAgain) {
  struct Retry {
    Cluster& cluster;
    std::vector<Pending> again{};
  };
  Cluster cluster({.fabric = {.manual_connect = true}});
  Retry retry{cluster};
  const Bytes data = pattern(10, 0);
  core::SendArguments arguments;
  arguments.group = &cluster.world(0);
  arguments.data = data;
  arguments.to = 1;
  arguments.then = {[](Operation& operation, void* owner) noexcept {
                      auto& self = *static_cast<Retry*>(owner);
                      self.cluster.worker(0).release(operation);
                      self.again.push_back(self.cluster.send(0, 1, pattern(10, 2)));
                    },
                    &retry};
  cluster.worker(0).post_send(arguments);
  const Pending second = cluster.send(0, 1, pattern(10, 1));
  cluster.worker(0).notify_peer_failed(1, "gone");
  cluster.settle();
  ASSERT_EQ(retry.again.size(), 1U);
  EXPECT_EQ(retry.again[0].status(), ErrorCode::peer_failed);
  EXPECT_TRUE(retry.again[0].done() && second.done());
}

// --- good-bye ------------------------------------------------------------------------------------------------------

TEST(GoodBye, ItsMessagesComeFirst) {
  Cluster cluster;
  cluster.connect_all();
  const Pending waiting = cluster.recv(0, 1, 10, 5);
  const Pending any = cluster.recv(0, any_source, 10, 6);
  const Pending sent = cluster.send(1, 0, pattern(10, 1), 1);
  cluster.worker(1).shutdown(std::chrono::seconds(5));
  cluster.stop(1);
  cluster.settle();
  EXPECT_EQ(waiting.status(), ErrorCode::peer_failed);
  EXPECT_NE(waiting.detail().find("rank 1 (node1, pid 1001) has left the job"), std::string::npos) << waiting.detail();
  EXPECT_FALSE(any.done()) << "others may send it";
  EXPECT_FALSE(cluster.worker(0).has_failed(1));
  Pending in = cluster.recv(0, 1, 10, 1);
  ASSERT_TRUE(in.done());
  EXPECT_EQ(in.buffer(), pattern(10, 1));
  const Pending more = cluster.recv(0, 1, 10, 1), send = cluster.send(0, 1, pattern(10, 1));
  cluster.settle();
  EXPECT_EQ(more.status(), ErrorCode::peer_failed);
  EXPECT_EQ(send.status(), ErrorCode::peer_failed);
  EXPECT_TRUE(cluster.worker(0).flush(1).ok());
  EXPECT_TRUE(cluster.worker(0).cancel(*any.operation()));
}

// shutdown() sends what is queued first.
TEST(GoodBye, QueuedMessagesLeaveBefore) {
  Cluster cluster({.fabric = {.queue_depth = 2}});
  cluster.connect_all();
  std::vector<Pending> outs, ins;
  for (std::size_t i = 0; i < 20; ++i) outs.push_back(cluster.send(1, 0, pattern(i, i)));
  for (std::size_t i = 0; i < 20; ++i) ins.push_back(cluster.recv(0, 1, i));
  std::atomic<bool> stop{false};
  {
    std::jthread receiver([&] {
      while (!stop.load()) cluster.worker(0).progress();
    });
    cluster.worker(1).shutdown(std::chrono::seconds(60));
    stop = true;
  }
  cluster.stop(1);
  cluster.settle();
  for (std::size_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(ins[i].done() && outs[i].done());
    EXPECT_EQ(ins[i].status(), ErrorCode::ok);
    EXPECT_EQ(ins[i].buffer(), pattern(i, i));
  }
}

TEST(GoodBye, ShutdownGivesUpOnAReceiverThatDoesNotTake) {
  Cluster cluster({.fabric = {.queue_depth = 2}});
  cluster.connect_all();
  cluster.stop(0);
  std::vector<Pending> outs;
  for (std::size_t i = 0; i < 20; ++i) outs.push_back(cluster.send(1, 0, pattern(10, i)));
  cluster.worker(1).shutdown(std::chrono::milliseconds(20));
  EXPECT_NE(cluster.log().find("leaves with messages that their receivers did not take"), std::string::npos);
}

}  // namespace
}  // namespace godwit::engine_test
