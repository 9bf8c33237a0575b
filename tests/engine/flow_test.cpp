// Flow control, full queues, connections that come late.
#include <algorithm>

#include "scenario.hpp"

namespace godwit::engine_test {
namespace {

using Script = std::vector<std::string>;

std::size_t count(const Script& script, std::string_view what) {
  return static_cast<std::size_t>(
      std::ranges::count_if(script, [&](const std::string& line) { return line.starts_with(what); }));
}

// --- credits -----------------------------------------------------------------------------------------------------

// 64K of window: a flooding sender goes over to announcements, which cost the receiver next to nothing.
TEST(Credits, AFloodTurnsIntoAnnouncements) {
  Cluster cluster({.options = {{"EAGER_WINDOW", "64K"}, {"EAGER_LIMIT", "4K"}}});
  cluster.connect_all();
  std::vector<Pending> outs, ins;
  constexpr std::size_t messages = 500, size = 1000;
  for (std::size_t i = 0; i < messages; ++i) {
    outs.push_back(cluster.send(0, 1, pattern(size, i), 1));
    cluster.settle();
  }
  const Script flood = cluster.fabric().script();
  const std::size_t eager = count(flood, "0>1 eager");
  EXPECT_EQ(eager, 65536 / (size + 64)) << "the window holds this many";
  EXPECT_EQ(count(flood, "0>1 ready_to_send"), messages - eager);
  EXPECT_EQ(count(flood, "1>0"), 0U);
  for (std::size_t i = 0; i < messages; ++i) ins.push_back(cluster.recv(1, 0, size, 1));
  cluster.settle();
  for (std::size_t i = 0; i < messages; ++i) {
    ASSERT_TRUE(outs[i].done() && ins[i].done()) << i;
    ASSERT_TRUE(ins[i].buffer() == pattern(size, i)) << i;
  }
  EXPECT_GE(count(cluster.fabric().script(), "1>0 credit"), 1U);
  outs.clear();
  ins.clear();
  cluster.expect_clean();
}

// What is received is given back, so that a pair that keeps up never announces small messages.
TEST(Credits, AReceiverThatKeepsUpGivesThemBack) {
  Cluster cluster({.options = {{"EAGER_WINDOW", "64K"}}});
  cluster.connect_all();
  for (std::size_t i = 0; i < 2000; ++i) {
    Pending in = cluster.recv(1, 0, 500, 1);
    const Pending out = cluster.send(0, 1, pattern(500, i), 1);
    cluster.settle();
    ASSERT_TRUE(in.done());
  }
  const Script script = cluster.fabric().script();
  EXPECT_EQ(count(script, "0>1 eager"), 2000U);
  EXPECT_EQ(count(script, "0>1 ready_to_send"), 0U);
  const std::size_t grants = count(script, "1>0 credit");
  EXPECT_GE(grants, 2000U * 564 / 65536);
  EXPECT_LE(grants, 2000U * 564 * 4 / 65536 + 1) << "not one for each message";
  EXPECT_EQ(cluster.worker(0).peer(1).credit + cluster.worker(1).peer(0).owed, 65536U);
}

TEST(Credits, ActiveMessagesAndDiscardedOnesGiveThemBackToo) {
  Cluster cluster({.options = {{"EAGER_WINDOW", "64K"}}});
  cluster.connect_all();
  std::size_t handled = 0;
  core::Worker& worker = cluster.worker(1);
  std::vector<Pending> outs;
  for (std::size_t i = 0; i < 300; ++i) outs.push_back(cluster.message(0, 1, pattern(500, i), 3));
  cluster.settle();
  worker.set_handler(cluster.world(1), 3, [&](const ActiveMessage&) { ++handled; });
  cluster.settle();
  EXPECT_EQ(handled, 300U);
  for (std::size_t i = 0; i < 300; ++i) {
    outs.push_back(cluster.send(0, 1, pattern(500, i), 1));
    cluster.settle();
    Operation* matched = worker.probe_matched(cluster.world(1), 0, 1);
    ASSERT_NE(matched, nullptr);
    worker.discard_matched(*matched);
  }
  cluster.settle();
  EXPECT_EQ(cluster.worker(0).peer(1).credit + worker.peer(0).owed, 65536U);
}

TEST(Credits, AFreedCommunicatorGivesThemBackAndFreesItsSenders) {
  Cluster cluster({.options = {{"EAGER_WINDOW", "64K"}}});
  cluster.connect_all();
  core::Group& theirs = cluster.worker(0).add_group(core::make_group(2, 0, {0, 1}));
  core::Group& ours = cluster.worker(1).add_group(core::make_group(2, 1, {0, 1}));
  const Bytes small = pattern(100, 1), large = pattern(20'000, 1);
  std::vector<Pending> outs;
  for (const Bytes& data : {small, large}) {
    auto owned = std::make_unique<Bytes>(data);
    core::SendArguments arguments;
    arguments.group = &theirs;
    arguments.data = *owned;
    arguments.to = 1;
    Pending send(cluster.worker(0), cluster.worker(0).post_send(arguments));
    outs.push_back(std::move(send.owning(std::move(owned))));
    auto again = std::make_unique<Bytes>(data);
    Pending active(cluster.worker(0), cluster.worker(0).post_active(theirs, *again, 1, 5));
    outs.push_back(std::move(active.owning(std::move(again))));
  }
  cluster.settle();
  cluster.worker(1).remove_group(ours);
  cluster.settle();
  for (const Pending& out : outs) EXPECT_TRUE(out.done());
  EXPECT_EQ(cluster.worker(0).peer(1).credit + cluster.worker(1).peer(0).owed, 65536U);
  outs.clear();
  cluster.expect_clean();
}

// --- full queues -------------------------------------------------------------------------------------------------

class FlowOver : public ::testing::TestWithParam<Variant> {};

// The queue is full once, at every single post in turn.
TEST_P(FlowOver, AFullQueueAtAnyPost) {
  std::uint64_t posts = 1;
  for (std::uint64_t nth = 0; nth < posts; ++nth) {
    const std::uint64_t times = nth % 2 == 0 ? 1 : 4;
    SCOPED_TRACE("full at post " + std::to_string(nth) + ", " + std::to_string(times) + " times");
    Cluster cluster({.fabric = GetParam().settings()});
    cluster.connect_all();
    const std::uint64_t before = cluster.fabric().posted();
    cluster.fabric().refuse_posts(before + nth, times);
    Scenario scenario(cluster);
    scenario.post();
    cluster.settle();
    scenario.expect_success();
    scenario.clear();
    cluster.expect_clean();
    posts = std::max(posts, cluster.fabric().posted() - before - times);
    if (HasFailure()) return;
  }
  EXPECT_GT(posts, 20U);
}

// Queues of a few entries only, all the time.
TEST_P(FlowOver, ShortQueues) {
  for (const std::size_t depth : {1, 2, 3, 7}) {
    fake::Settings settings = GetParam().settings();
    settings.queue_depth = depth;
    Cluster cluster({.fabric = settings});
    Scenario scenario(cluster);
    scenario.post();
    cluster.settle();
    scenario.expect_success();
    scenario.clear();
    cluster.expect_clean();
  }
}

INSTANTIATE_TEST_SUITE_P(On, FlowOver, ::testing::ValuesIn(variants()),
                         [](const auto& variant) { return variant.param.name; });

// A receiver that does not progress: everything waits on the sender's side, in order.
TEST(FullQueue, QueuedMessagesKeepTheirOrder) {
  Cluster cluster({.fabric = {.queue_depth = 4}});
  cluster.connect_all();
  cluster.stop(1);
  std::vector<Pending> outs, ins;
  for (std::size_t i = 0; i < 100; ++i) outs.push_back(cluster.send(0, 1, pattern(i, i), 1));
  cluster.settle();
  EXPECT_NE(cluster.worker(0).describe_all().find("queued for rank 1"), std::string::npos);
  cluster.resume(1);
  for (std::size_t i = 0; i < 100; ++i) ins.push_back(cluster.recv(1, 0, i, any_tag));
  cluster.settle();
  for (std::size_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(outs[i].done() && ins[i].done());
    ASSERT_EQ(ins[i].buffer(), pattern(i, i)) << "message " << i << " came out of order";
  }
}

// A wire that takes a thousand pieces before it completes one: the engine keeps few of them out, and counts right.
TEST(FullQueue, AStreamOfManyPieces) {
  ClusterSettings settings{.fabric = {.queue_depth = 10'000, .manual = true}};
  core::Capabilities& can = settings.fabric.capabilities;
  can.rma = can.private_rma = false;
  can.max_inline = 0;
  can.max_message = core::smallest_max_message;
  Cluster cluster(settings);
  cluster.connect_all();
  Pending in = cluster.recv(1, 0, 200'000);
  const Pending out = cluster.send(0, 1, pattern(200'000, 1));
  for (int i = 0; i < 4; ++i) {
    cluster.fabric().step();  // the announcement, its answer, their completions
    cluster.pass();
  }
  for (int i = 0; i < 1000; ++i) cluster.worker(0).progress();  // nothing is delivered
  EXPECT_FALSE(out.done());
  EXPECT_LE(count(cluster.fabric().script(), "0>1 data"), 40U);
  cluster.settle();
  ASSERT_TRUE(in.done() && out.done());
  EXPECT_TRUE(in.buffer() == pattern(200'000, 1));
  EXPECT_EQ(count(cluster.fabric().script(), "0>1 data"), 200'000U / 256 + 1);
}

// --- connections ---------------------------------------------------------------------------------------------------

TEST(Connection, OperationsWaitForItInOrder) {
  Cluster cluster({.fabric = {.manual_connect = true}});
  std::vector<Pending> outs, ins;
  for (std::size_t i = 0; i < 300; ++i) outs.push_back(cluster.send(0, 1, pattern(i * 50, i), 1));
  cluster.settle();
  EXPECT_FALSE(outs.front().done());
  EXPECT_NE(cluster.worker(0).describe_all().find("waits for the connection"), std::string::npos);
  EXPECT_EQ(cluster.fabric().script(), Script{});
  cluster.fabric().connect(0, 1);
  for (std::size_t i = 0; i < 300; ++i) ins.push_back(cluster.recv(1, any_source, i * 50, any_tag));
  cluster.settle();
  for (std::size_t i = 0; i < 300; ++i) {
    ASSERT_TRUE(outs[i].done() && ins[i].done()) << i;
    ASSERT_TRUE(ins[i].buffer() == pattern(i * 50, i)) << i;
  }
}

TEST(Connection, OneOfEverythingWaits) {
  for (const Variant& variant : variants()) {
    fake::Settings settings = variant.settings();
    settings.manual_connect = true;
    Cluster cluster({.fabric = settings});
    Scenario scenario(cluster);
    scenario.post();
    cluster.settle();
    cluster.fabric().connect(0, 1);
    cluster.settle();
    scenario.expect_success();
  }
}

// A callback of an operation that had waited for the connection posts more: that may not overtake the others.
TEST(Connection, CallbacksDoNotOvertakeWhatWaits) {
  struct Chain {
    Cluster& cluster;
    std::vector<Pending> more{};
  };
  Cluster cluster({.fabric = {.manual_connect = true}});
  Chain chain{cluster};
  const Bytes first = pattern(10, 0);
  core::SendArguments arguments;
  arguments.group = &cluster.world(0);
  arguments.data = first;
  arguments.to = 1;
  arguments.then = {[](Operation& operation, void* owner) noexcept {
                      auto& self = *static_cast<Chain*>(owner);
                      self.cluster.worker(0).release(operation);
                      self.more.push_back(self.cluster.send(0, 1, pattern(10, 2)));
                    },
                    &chain};
  cluster.worker(0).post_send(arguments);
  const Pending second = cluster.send(0, 1, pattern(10, 1));
  cluster.fabric().connect(0, 1);
  std::vector<Pending> ins;
  for (int i = 0; i < 3; ++i) ins.push_back(cluster.recv(1, 0, 10));
  cluster.settle();
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(ins[i].done());
    EXPECT_EQ(ins[i].buffer(), pattern(10, i)) << i;
  }
}

// The peer has connected to us and its messages are there before our own endpoint is ready.
TEST(Connection, MessagesMayComeBeforeIt) {
  for (const Variant& variant : variants()) {
    Cluster cluster({.fabric = variant.settings()});
    std::vector<Pending> ins, outs;
    const std::vector<std::size_t> sizes = {100'000, 0, 10, 3000, 50'000};
    for (std::size_t i = 0; i < sizes.size(); ++i)
      ins.push_back(cluster.recv(1, any_source, sizes[i], static_cast<Tag>(i)));
    for (std::size_t i = 0; i < sizes.size(); ++i)
      outs.push_back(cluster.send(0, 1, pattern(sizes[i], i), static_cast<Tag>(i)));
    cluster.worker(0).progress();  // connected: all is posted
    cluster.fabric().deliver_all();
    cluster.worker(1).progress();  // one poll: the messages, then the endpoint is opened
    cluster.settle();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      ASSERT_TRUE(ins[i].done() && outs[i].done()) << variant << ", " << sizes[i] << " bytes";
      EXPECT_TRUE(ins[i].buffer() == pattern(sizes[i], i));
    }
  }
}

TEST(Connection, NoTransportReachesThePeer) {
  Cluster cluster({.ranks = 1});  // the fake does not reach the rank itself
  const Pending out = cluster.send(0, 0, pattern(10, 1));
  EXPECT_FALSE(out.done()) << "the failure comes when the caller waits";
  cluster.settle();
  ASSERT_TRUE(out.done());
  EXPECT_EQ(out.status(), ErrorCode::unreachable);
  EXPECT_NE(out.detail().find("fake: that is this rank itself"), std::string::npos) << out.detail();
}

TEST(Connection, MemoryThatCannotBeRegisteredFailsTheSend) {
  Cluster cluster;
  cluster.connect_all();
  cluster.fabric().refuse_registration(true);
  const Pending out = cluster.send(0, 1, pattern(100'000, 1));
  cluster.settle();
  ASSERT_TRUE(out.done());
  EXPECT_EQ(out.status(), ErrorCode::no_memory);
  EXPECT_NE(out.detail().find("refuses to register"), std::string::npos) << out.detail();
  cluster.fabric().refuse_registration(false);
  Pending in = cluster.recv(1, 0, 100'000);
  const Pending next = cluster.send(0, 1, pattern(100'000, 2));
  cluster.settle();
  EXPECT_TRUE(next.done());
  EXPECT_TRUE(in.buffer() == pattern(100'000, 2));
}

}  // namespace
}  // namespace godwit::engine_test
