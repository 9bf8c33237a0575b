// Tagged messages: the wire messages of each protocol, sizes, truncation, cancel, probes, order.
#include "scenario.hpp"

namespace godwit::engine_test {
namespace {

using Script = std::vector<std::string>;

ClusterSettings over(const Variant& variant) { return {.fabric = variant.settings()}; }

const Variant& variant_called(std::string_view name) {
  for (const Variant& variant : variants())
    if (variant.name == name) return variant;
  throw std::invalid_argument("no such variant");
}

// --- scripts -------------------------------------------------------------------------------------------------------

TEST(Script, EagerIsOneMessage) {
  Cluster cluster;
  cluster.connect_all();
  Pending in = cluster.recv(1, 0, 100, 7);
  const Pending out = cluster.send(0, 1, pattern(50, 1), 7);
  EXPECT_EQ(out.operation(), nullptr) << "an inline send is done at once";
  cluster.settle();
  ASSERT_TRUE(in.done());
  EXPECT_EQ(in.status(), ErrorCode::ok);
  EXPECT_EQ(in.info().source, 0);
  EXPECT_EQ(in.info().tag, 7);
  EXPECT_EQ(in.info().size, 50U);
  in.buffer().resize(50);
  EXPECT_EQ(in.buffer(), pattern(50, 1));
  EXPECT_EQ(cluster.fabric().script(), Script{"0>1 eager 50"});
  cluster.expect_clean();
}

TEST(Script, EagerBeyondInlineIsDoneWhenTheTransportHasReadIt) {
  ClusterSettings settings = over(variant_called("no_inline"));
  settings.fabric.manual = true;
  Cluster cluster(settings);
  cluster.connect_all();
  Pending in = cluster.recv(1, 0, 50);
  const Pending out = cluster.send(0, 1, pattern(50, 1));
  EXPECT_FALSE(out.done());
  cluster.settle();
  EXPECT_TRUE(out.done());
  EXPECT_EQ(in.buffer(), pattern(50, 1));
  EXPECT_EQ(cluster.fabric().script(), Script{"0>1 eager 50"});
}

TEST(Script, RendezvousFetchesInOneCopy) {
  Cluster cluster;
  cluster.connect_all();
  Pending in = cluster.recv(1, 0, 100'000, 7);
  const Pending out = cluster.send(0, 1, pattern(100'000, 2), 7);
  EXPECT_FALSE(out.done());
  cluster.settle();
  ASSERT_TRUE(in.done() && out.done());
  EXPECT_EQ(in.buffer(), pattern(100'000, 2));
  EXPECT_EQ(cluster.fabric().script(), (Script{"0>1 ready_to_send", "1>0 get 100000", "1>0 finished"}));
  cluster.expect_clean();
}

TEST(Script, RendezvousFetchesInPieces) {
  Cluster cluster;
  cluster.fabric().settings().capabilities.max_rdma = 4000;
  cluster.connect_all();
  Pending in = cluster.recv(1, 0, 10'000);
  const Pending out = cluster.send(0, 1, pattern(10'000, 2));
  cluster.settle();
  ASSERT_TRUE(in.done() && out.done());
  EXPECT_EQ(in.buffer(), pattern(10'000, 2));
  EXPECT_EQ(cluster.fabric().script(),
            (Script{"0>1 ready_to_send", "1>0 get 4000", "1>0 get 4000", "1>0 get 2000", "1>0 finished"}));
}

TEST(Script, RendezvousStreamsWhereMemoryCannotBeReached) {
  Cluster cluster(over(variant_called("messages_only")));
  cluster.connect_all();
  Pending in = cluster.recv(1, 0, 20'000);
  const Pending out = cluster.send(0, 1, pattern(20'000, 3));
  cluster.settle();
  ASSERT_TRUE(in.done() && out.done());
  EXPECT_EQ(in.buffer(), pattern(20'000, 3));
  EXPECT_EQ(cluster.fabric().script(),
            (Script{"0>1 ready_to_send", "1>0 clear_to_send", "0>1 data 8192", "0>1 data 8192", "0>1 data 3616"}));
  cluster.expect_clean();
}

// The receiver asks for what fits and no more.
TEST(Script, TruncatedStreamMovesOnlyWhatFits) {
  Cluster cluster(over(variant_called("messages_only")));
  cluster.connect_all();
  Pending in = cluster.recv(1, 0, 100);
  const Pending out = cluster.send(0, 1, pattern(20'000, 3));
  cluster.settle();
  EXPECT_EQ(in.status(), ErrorCode::truncated);
  EXPECT_TRUE(out.done());
  EXPECT_EQ(cluster.fabric().script(), (Script{"0>1 ready_to_send", "1>0 clear_to_send", "0>1 data 100"}));
}

TEST(Script, SynchronousSendWaitsForItsMatch) {
  Cluster cluster;
  cluster.connect_all();
  const Pending out = cluster.send(0, 1, pattern(5, 1), 3, true);
  cluster.settle();
  EXPECT_FALSE(out.done());
  Pending in = cluster.recv(1, 0, 5, 3);
  cluster.settle();
  EXPECT_TRUE(out.done());
  EXPECT_EQ(in.buffer(), pattern(5, 1));
  EXPECT_EQ(cluster.fabric().script(), (Script{"0>1 ready_to_send", "1>0 get 5", "1>0 finished"}));
}

TEST(Script, EmptySynchronousSend) {
  Cluster cluster;
  cluster.connect_all();
  const Pending out = cluster.send(0, 1, {}, 3, true);
  cluster.settle();
  EXPECT_FALSE(out.done());
  const Pending in = cluster.recv(1, 0, 0, 3);
  cluster.settle();
  EXPECT_TRUE(out.done() && in.done());
  EXPECT_EQ(cluster.fabric().script(), (Script{"0>1 ready_to_send", "1>0 finished"}));
}

// --- over every kind of transport ------------------------------------------------------------------------------------

class TwoSidedOver : public ::testing::TestWithParam<Variant> {};

TEST_P(TwoSidedOver, AllSizesArrive) {
  Cluster cluster(over(GetParam()));
  for (const std::size_t size :
       {0, 1, 31, 32, 33, 99, 100, 101, 975, 976, 977, 1000, 1001, 8191, 8192, 8193, 100'000, 3'000'000}) {
    for (const bool receive_first : {true, false}) {
      Pending in, out;
      if (receive_first) in = cluster.recv(1, 0, size, 1);
      out = cluster.send(0, 1, pattern(size, size), 1);
      cluster.settle();
      if (!receive_first) in = cluster.recv(1, 0, size, 1);
      cluster.settle();
      ASSERT_TRUE(in.done() && out.done()) << size;
      ASSERT_EQ(in.status(), ErrorCode::ok) << size;
      ASSERT_EQ(in.info().size, size);
      ASSERT_TRUE(in.buffer() == pattern(size, size)) << size;
    }
  }
  cluster.expect_clean();
}

TEST_P(TwoSidedOver, OneOfEverything) {
  Cluster cluster(over(GetParam()));
  {
    Scenario scenario(cluster);
    scenario.post();
    cluster.settle();
    scenario.expect_success();
  }
  cluster.expect_clean();
}

TEST_P(TwoSidedOver, TruncationLeavesThePairUsable) {
  Cluster cluster(over(GetParam()));
  for (const std::size_t size : {200, 50'000}) {
    for (const bool receive_first : {true, false}) {
      Pending in, out;
      if (receive_first) in = cluster.recv(1, 0, 120, 1);
      out = cluster.send(0, 1, pattern(size, size), 1);
      cluster.settle();
      if (!receive_first) in = cluster.recv(1, 0, 120, 1);
      cluster.settle();
      ASSERT_TRUE(in.done() && out.done());
      EXPECT_EQ(out.status(), ErrorCode::ok);
      EXPECT_EQ(in.status(), ErrorCode::truncated);
      EXPECT_EQ(in.info().size, size);
      EXPECT_NE(in.detail().find(std::to_string(size) + " bytes"), std::string::npos) << in.detail();
      EXPECT_NE(in.detail().find("120 bytes"), std::string::npos) << in.detail();
      Bytes start = pattern(size, size);
      start.resize(120);
      EXPECT_EQ(in.buffer(), start);
      Pending next_in = cluster.recv(1, 0, 300, 2);
      const Pending next_out = cluster.send(0, 1, pattern(300, 9), 2);
      cluster.settle();
      ASSERT_TRUE(next_in.done() && next_out.done());
      EXPECT_EQ(next_in.buffer(), pattern(300, 9));
    }
  }
  cluster.expect_clean();
}

// Small and large messages of one sender with one tag are received in the order in which they were sent.
TEST_P(TwoSidedOver, SmallMessagesDoNotOvertakeLargeOnes) {
  Cluster cluster(over(GetParam()));
  std::vector<Pending> outs, ins;
  const auto size = [](std::size_t i) { return i % 3 == 0 ? 20'000 + i : i; };
  for (std::size_t i = 0; i < 30; ++i) {
    outs.push_back(cluster.send(0, 1, pattern(size(i), i), 1));
    if (i == 15) cluster.settle();
  }
  for (std::size_t i = 0; i < 30; ++i)
    ins.push_back(cluster.recv(1, i % 2 == 0 ? any_source : 0, size(i), i % 4 == 0 ? any_tag : 1));
  cluster.settle();
  for (std::size_t i = 0; i < 30; ++i) {
    ASSERT_TRUE(ins[i].done() && outs[i].done()) << i;
    EXPECT_EQ(ins[i].info().size, size(i));
    EXPECT_TRUE(ins[i].buffer() == pattern(size(i), i)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(On, TwoSidedOver, ::testing::ValuesIn(variants()),
                         [](const auto& variant) { return variant.param.name; });

// --- cancel and probes -----------------------------------------------------------------------------------------------

TEST(TwoSided, ACancelledReceiveTakesNothing) {
  Cluster cluster;
  const Pending cancelled = cluster.recv(1, 0, 10, 1);
  Pending kept = cluster.recv(1, 0, 10, 1);
  EXPECT_TRUE(cluster.worker(1).cancel(*cancelled.operation()));
  EXPECT_EQ(cancelled.status(), ErrorCode::cancelled);
  EXPECT_FALSE(cluster.worker(1).cancel(*cancelled.operation()));
  const Pending out = cluster.send(0, 1, pattern(10, 1), 1);
  cluster.settle();
  ASSERT_TRUE(kept.done());
  EXPECT_EQ(kept.buffer(), pattern(10, 1));
  EXPECT_FALSE(cluster.worker(1).cancel(*kept.operation())) << "it has matched";
}

TEST(TwoSided, AMatchedReceiveCannotBeCancelled) {
  ClusterSettings settings;
  settings.fabric.manual = true;
  Cluster cluster(settings);
  cluster.connect_all();
  Pending in = cluster.recv(1, 0, 100'000, 1);
  const Pending out = cluster.send(0, 1, pattern(100'000, 1), 1);
  cluster.fabric().step();  // the announcement
  cluster.worker(1).progress();
  EXPECT_FALSE(cluster.worker(1).cancel(*in.operation()));
  cluster.settle();
  EXPECT_EQ(in.buffer(), pattern(100'000, 1));
}

class Probes : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Probes, AProbeLeavesTheMessage) {
  const std::size_t size = GetParam();
  Cluster cluster;
  const Pending out = cluster.send(0, 1, pattern(size, 1), 4);
  cluster.settle();
  core::Group& world = cluster.world(1);
  EXPECT_FALSE(cluster.worker(1).probe(world, 0, 5));
  for (const auto& [from, tag] : {std::pair<Rank, Tag>{0, 4}, {any_source, any_tag}}) {
    const auto found = cluster.worker(1).probe(world, from, tag);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->source, 0);
    EXPECT_EQ(found->tag, 4);
    EXPECT_EQ(found->size, size);
  }
  Pending in = cluster.recv(1, 0, size, 4);
  cluster.settle();
  EXPECT_EQ(in.buffer(), pattern(size, 1));
  EXPECT_TRUE(out.done());
  cluster.expect_clean();
}

TEST_P(Probes, AMatchedProbeReservesTheMessage) {
  const std::size_t size = GetParam();
  Cluster cluster;
  const Pending first = cluster.send(0, 1, pattern(size, 1), 4), second = cluster.send(0, 1, pattern(size, 2), 4);
  cluster.settle();
  core::Worker& worker = cluster.worker(1);
  Pending matched(worker, worker.probe_matched(cluster.world(1), any_source, 4));
  ASSERT_NE(matched.operation(), nullptr);
  EXPECT_EQ(matched.info().size, size);
  Pending other = cluster.recv(1, 0, size, 4);
  cluster.settle();
  EXPECT_EQ(other.buffer(), pattern(size, 2)) << "the matched message is out of the queue";
  Bytes buffer(size);
  worker.receive_matched(*matched.operation(), buffer);
  cluster.settle();
  ASSERT_TRUE(matched.done() && first.done() && second.done());
  EXPECT_EQ(buffer, pattern(size, 1));
  cluster.expect_clean();
}

TEST_P(Probes, ADiscardedMessageFreesItsSender) {
  Cluster cluster;
  const Pending out = cluster.send(0, 1, pattern(GetParam(), 1), 4, true);
  cluster.settle();
  EXPECT_FALSE(out.done());
  core::Worker& worker = cluster.worker(1);
  Operation* matched = worker.probe_matched(cluster.world(1), 0, any_tag);
  ASSERT_NE(matched, nullptr);
  worker.discard_matched(*matched);
  cluster.settle();
  EXPECT_TRUE(out.done());
  cluster.expect_clean();
}

// What was matched before its communicator was aborted can still be dropped, and fails when it is received.
TEST_P(Probes, AMatchedMessageOfAnAbortedCommunicator) {
  Cluster cluster;
  const Pending first = cluster.send(0, 1, pattern(GetParam(), 1), 4),
                second = cluster.send(0, 1, pattern(GetParam(), 2), 4);
  cluster.settle();
  core::Worker& worker = cluster.worker(1);
  Operation* dropped = worker.probe_matched(cluster.world(1), 0, any_tag);
  Pending received(worker, worker.probe_matched(cluster.world(1), 0, any_tag));
  worker.abort_group(cluster.world(1), ErrorCode::aborted, "the test wants it");
  worker.discard_matched(*dropped);
  Bytes buffer(GetParam());
  worker.receive_matched(*received.operation(), buffer);
  cluster.settle();
  ASSERT_TRUE(received.done());
  EXPECT_EQ(received.status(), ErrorCode::aborted);
  EXPECT_TRUE(first.done() && second.done());
  cluster.expect_clean();
}

INSTANTIATE_TEST_SUITE_P(Sizes, Probes, ::testing::Values(0, 10, 100'000));

// --- to oneself
// --------------------------------------------------------------------------------------------------------

TEST(Self, MessagesOfAllSizes) {
  Cluster cluster({.ranks = 1, .self = true});
  for (const std::size_t size : {0, 1, 8192, 8193, 1'000'000}) {
    const Pending out = cluster.send(0, 0, pattern(size, size), 3);
    Pending in = cluster.recv(0, any_source, size, 3);
    cluster.settle();
    ASSERT_TRUE(in.done() && out.done()) << size;
    EXPECT_EQ(in.info().source, 0);
    EXPECT_TRUE(in.buffer() == pattern(size, size));
    Pending first = cluster.recv(0, 0, size, 4);
    const Pending synchronous = cluster.send(0, 0, pattern(size, 1), 4, true);
    cluster.settle();
    ASSERT_TRUE(first.done() && synchronous.done()) << size;
    EXPECT_TRUE(first.buffer() == pattern(size, 1));
  }
  cluster.expect_clean();
}

TEST(Self, ManyUnreceivedMessages) {
  Cluster cluster({.ranks = 1, .self = true});
  std::vector<Pending> outs, ins;
  for (std::size_t i = 0; i < 2000; ++i) outs.push_back(cluster.send(0, 0, pattern(2000, i), static_cast<Tag>(i)));
  cluster.settle();
  for (std::size_t i = 2000; i-- > 0;) ins.push_back(cluster.recv(0, 0, 2000, static_cast<Tag>(i)));
  cluster.settle();
  for (std::size_t i = 0; i < 2000; ++i) {
    ASSERT_TRUE(outs[i].done() && ins[i].done());
    ASSERT_TRUE(ins[1999 - i].buffer() == pattern(2000, i));
  }
  cluster.expect_clean();
}

TEST(Self, OneSided) {
  Cluster cluster({.ranks = 1, .self = true});
  core::Worker& worker = cluster.worker(0);
  Exposed window(cluster, 0, 1000);
  const Bytes data = pattern(100, 1);
  Bytes back(100);
  std::uint64_t before = 9;
  const Pending put(worker, worker.post_put(window.remote, data, 8, std::uint16_t{1}));
  cluster.settle();
  const Pending get(worker, worker.post_get(window.remote, back, 8));
  const Pending add(worker, worker.post_atomic(Operation::Kind::fetch_add, window.remote, 0, 8, 3, 0, &before));
  const Pending add32(worker, worker.post_atomic(Operation::Kind::fetch_add, window.remote, 200, 4, 3, 0, nullptr));
  cluster.settle();
  EXPECT_TRUE(put.done() && get.done() && add.done() && add32.done());
  EXPECT_EQ(back, data);
  EXPECT_EQ(window.counter(1), 1U);
  EXPECT_EQ(before, 0U);
  EXPECT_EQ(window.memory[0], std::byte{3});
  EXPECT_EQ(window.memory[200], std::byte{3});
  EXPECT_TRUE(worker.flush(0).ok());
  EXPECT_TRUE(worker.fence(0).ok());
}

}  // namespace
}  // namespace godwit::engine_test
