// One-sided operations that an endpoint executes at once: when they may, and that they overtake nothing.
#include <cstring>

#include "scenario.hpp"

namespace godwit::engine_test {
namespace {

using Script = std::vector<std::string>;
using Kind = Operation::Kind;

constexpr std::uint16_t counter = 7;

// Two ranks over an endpoint that executes up to 1000 bytes at once, and a window of rank 1.
struct AtOnce : ::testing::Test {
  static fake::Settings settings() {
    fake::Settings made;
    made.capabilities.max_rdma = 1000;
    made.at_once = true;
    return made;
  }
  AtOnce() { cluster.connect_all(); }

  core::Worker& origin() { return cluster.worker(0); }
  Pending put(std::size_t size, std::optional<std::uint16_t> notify = {}, std::uint64_t offset = 0) {
    return {origin(), origin().post_put(window.remote, {data.data(), size}, offset, notify)};
  }
  Pending get(Bytes& into) { return {origin(), origin().post_get(window.remote, into, 0)}; }
  Pending atomic(Kind kind, std::uint32_t width, std::uint64_t operand, std::uint64_t compare, std::uint64_t* before) {
    return {origin(), origin().post_atomic(kind, window.remote, 8, width, operand, compare, before)};
  }
  Script script() { return cluster.fabric().script(); }
  void fill_the_queue() { cluster.fabric().refuse_posts(cluster.fabric().posted(), 1'000'000); }
  void empty_the_queue() { cluster.fabric().refuse_posts(0, 0); }

  Cluster cluster{{.fabric = settings()}};
  Exposed window{cluster, 1, 20'000};
  Bytes data = pattern(20'000, 1);
};

TEST_F(AtOnce, NothingIsLeftToWaitFor) {
  std::uint64_t before = 99;
  Bytes found(5);
  EXPECT_EQ(put(5).operation(), nullptr);
  EXPECT_EQ(std::memcmp(window.memory.data(), data.data(), 5), 0) << "visible at once";
  EXPECT_EQ(get(found).operation(), nullptr);
  EXPECT_EQ(found, Bytes(data.begin(), data.begin() + 5));
  EXPECT_EQ(put(0, counter).operation(), nullptr);
  EXPECT_EQ(atomic(Kind::fetch_add, 8, 5, 0, &before).operation(), nullptr);
  EXPECT_EQ(before, 0U);
  EXPECT_EQ(atomic(Kind::compare_swap, 8, 9, 5, &before).operation(), nullptr);
  EXPECT_EQ(before, 5U);
  EXPECT_EQ(atomic(Kind::fetch_add, 8, 1, 0, nullptr).operation(), nullptr);
  EXPECT_TRUE(origin().flush(1).ok());
  EXPECT_TRUE(origin().fence(1).ok());
  EXPECT_EQ(script(), (Script{"0>1 put 5 at once", "0>1 get 5 at once", "0>1 put 0 notify at once",
                              "0>1 fetch_add at once", "0>1 compare_swap at once", "0>1 fetch_add at once"}));
  cluster.settle();
  EXPECT_EQ(window.counter(counter), 1U);
}

TEST_F(AtOnce, WhatTheEndpointDoesNotTakeGoesTheGeneralWay) {
  std::uint64_t before = 99;
  const Pending large = put(2500, counter);
  const Pending narrow = atomic(Kind::fetch_add, 4, 5, 0, &before);
  cluster.settle();
  EXPECT_TRUE(large.done() && narrow.done());
  EXPECT_EQ(script(),
            (Script{"0>1 put 1000", "0>1 put 1000", "0>1 put 500 notify", "0>1 atomic_request", "1>0 atomic_reply"}));
  EXPECT_EQ(window.counter(counter), 1U);
}

TEST_F(AtOnce, NothingOvertakesAFullQueue) {
  fill_the_queue();
  Bytes found(8);
  std::uint64_t before = 99;
  const Pending first = put(2500), second = put(8, counter), third = get(found),
                fourth = atomic(Kind::fetch_add, 8, 1, 0, &before);
  EXPECT_FALSE(first.done() || second.done() || third.done() || fourth.done());
  cluster.settle();
  EXPECT_EQ(script(), Script{});
  EXPECT_EQ(window.memory, Bytes(20'000));
  empty_the_queue();
  cluster.settle();
  EXPECT_TRUE(first.done() && second.done() && third.done() && fourth.done());
  EXPECT_EQ(script(),
            (Script{"0>1 put 1000", "0>1 put 1000", "0>1 put 500", "0>1 put 8 notify", "0>1 get 8", "0>1 fetch_add"}));
  EXPECT_EQ(put(8).operation(), nullptr) << "the way is open again";
}

// Of a long put four pieces are under way at a time; the queue has room for more.
TEST_F(AtOnce, ANotificationWaitsForThePiecesOfAnEarlierPut) {
  const Pending large = put(8000);
  const Pending small = put(8, counter, 10'000);
  EXPECT_FALSE(large.done() || small.done());
  cluster.settle();
  EXPECT_TRUE(large.done() && small.done());
  Script expected(8, "0>1 put 1000");
  expected.emplace_back("0>1 put 8 notify");
  EXPECT_EQ(script(), expected);
  EXPECT_EQ(window.counter(counter), 1U);
}

// What waits for the connection goes first.
TEST_F(AtOnce, NothingOvertakesWhatWaitsForTheConnection) {
  fake::Settings unconnected = settings();
  unconnected.manual_connect = true;
  Cluster other({.fabric = unconnected});
  Exposed exposed(other, 1, 100);
  core::Worker& worker = other.worker(0);
  const auto put_first = [&](std::size_t size, std::optional<std::uint16_t> notify) {
    return Pending(worker, worker.post_put(exposed.remote, {data.data(), size}, 0, notify));
  };
  const Pending first = put_first(100, {}), second = put_first(1, counter);
  EXPECT_FALSE(first.done() || second.done());
  EXPECT_EQ(other.fabric().script(), Script{});
  other.fabric().connect(0, 1);
  other.settle();
  EXPECT_TRUE(first.done() && second.done());
  EXPECT_EQ(other.fabric().script(), (Script{"0>1 put 100", "0>1 put 1 notify"}));
}

TEST_F(AtOnce, AFullQueueOfNotificationsIsWaitedFor) {
  const std::size_t room = settings().queue_depth;
  std::vector<Pending> puts;
  for (std::size_t i = 0; i < room + 10; ++i) puts.push_back(put(8, counter));
  EXPECT_TRUE(puts[room - 1].done());
  EXPECT_FALSE(puts[room].done());
  cluster.settle();
  EXPECT_TRUE(puts.back().done());
  EXPECT_EQ(window.counter(counter), room + 10);
}

TEST_F(AtOnce, NothingReachesALostPeerOrABrokenGroup) {
  core::Group& world = cluster.world(0);
  origin().abort_group(world, ErrorCode::aborted, "for a test");
  const Pending aborted(origin(), origin().post_put(window.remote, {data.data(), 8}, 0, {}, &world));
  cluster.settle();
  EXPECT_EQ(aborted.status(), ErrorCode::aborted);
  cluster.kill(1);
  cluster.settle();
  const Pending lost = put(8);
  cluster.settle();
  EXPECT_EQ(lost.status(), ErrorCode::peer_failed);
  EXPECT_EQ(window.memory, Bytes(20'000));
}

}  // namespace
}  // namespace godwit::engine_test
