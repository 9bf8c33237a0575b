// Active messages: handlers, early ones, large ones, and what handlers may do.
#include "scenario.hpp"

namespace godwit::engine_test {
namespace {

using Script = std::vector<std::string>;
using Got = std::vector<std::pair<Rank, Bytes>>;

// Collects what handler `id` of rank `at` gets.
std::shared_ptr<Got> collect(Cluster& cluster, Rank at, std::uint16_t id) {
  auto got = std::make_shared<Got>();
  cluster.worker(at).set_handler(cluster.world(at), id, [got](const ActiveMessage& message) {
    got->emplace_back(message.source, Bytes(message.payload.begin(), message.payload.end()));
  });
  return got;
}

TEST(Active, SmallOneIsOneMessage) {
  Cluster cluster;
  cluster.connect_all();
  const auto got = collect(cluster, 1, 65535);
  const Pending out = cluster.message(0, 1, pattern(20, 1), 65535);
  cluster.settle();
  EXPECT_TRUE(out.done());
  EXPECT_EQ(*got, (Got{{0, pattern(20, 1)}}));
  EXPECT_EQ(cluster.fabric().script(), Script{"0>1 active 20"});
  cluster.expect_clean();
}

TEST(Active, LargeOneIsFetched) {
  Cluster cluster;
  cluster.connect_all();
  const auto got = collect(cluster, 1, 3);
  const Pending out = cluster.message(0, 1, pattern(50'000, 1), 3);
  EXPECT_FALSE(out.done());
  cluster.settle();
  EXPECT_TRUE(out.done());
  EXPECT_EQ(*got, (Got{{0, pattern(50'000, 1)}}));
  EXPECT_EQ(cluster.fabric().script(), (Script{"0>1 ready_to_send", "1>0 get 50000", "1>0 finished"}));
  cluster.expect_clean();
}

TEST(Active, SizesOverEveryTransport) {
  for (const Variant& variant : variants()) {
    Cluster cluster({.fabric = variant.settings()});
    const auto got = collect(cluster, 1, 3);
    for (const std::size_t size : {0, 1, 100, 1000, 8192, 8193, 100'000}) {
      const Pending out = cluster.message(0, 1, pattern(size, size), 3);
      cluster.settle();
      EXPECT_TRUE(out.done()) << variant << size;
      EXPECT_EQ(*got, (Got{{0, pattern(size, size)}})) << variant << size;
      got->clear();
    }
    cluster.expect_clean();
  }
}

TEST(Active, EarlyOnesWaitForTheirHandler) {
  Cluster cluster;
  cluster.connect_all();
  const Pending small = cluster.message(0, 1, pattern(20, 1), 3), large = cluster.message(0, 1, pattern(50'000, 2), 3);
  const Pending other = cluster.message(0, 1, pattern(30, 3), 4);
  cluster.settle();
  EXPECT_FALSE(large.done()) << "a large one is not fetched before somebody wants it";
  EXPECT_EQ(cluster.fabric().script(), (Script{"0>1 active 20", "0>1 ready_to_send", "0>1 active 30"}));
  const auto got = collect(cluster, 1, 3);
  cluster.settle();
  EXPECT_EQ(*got, (Got{{0, pattern(20, 1)}, {0, pattern(50'000, 2)}}));
  EXPECT_TRUE(large.done());
  EXPECT_EQ(collect(cluster, 1, 4)->size(), 1U);
  cluster.expect_clean();
}

TEST(Active, EarlyOnesOfAGroupThatDoesNotExistYet) {
  Cluster cluster;
  core::Group& theirs = cluster.worker(0).add_group(core::make_group(2, 0, {0, 1}));
  const Bytes small = pattern(20, 1), large = pattern(50'000, 2);
  const Pending a(cluster.worker(0), cluster.worker(0).post_active(theirs, small, 1, 9));
  const Pending b(cluster.worker(0), cluster.worker(0).post_active(theirs, large, 1, 9));
  cluster.settle();
  core::Group& ours = cluster.worker(1).add_group(core::make_group(2, 1, {0, 1}));
  std::size_t bytes = 0;
  cluster.worker(1).set_handler(ours, 9, [&](const ActiveMessage& message) { bytes += message.payload.size(); });
  cluster.settle();
  EXPECT_EQ(bytes, 50'020U);
  EXPECT_TRUE(a.done() && b.done());
}

TEST(Active, AHandlerMayAnswer) {
  Cluster cluster;
  std::vector<Pending> answers;
  cluster.worker(1).set_handler(cluster.world(1), 3, [&](const ActiveMessage& message) {
    answers.push_back(cluster.message(1, message.source, Bytes(message.payload.begin(), message.payload.end()), 4));
  });
  const auto got = collect(cluster, 0, 4);
  std::vector<Pending> outs;
  for (std::size_t i = 0; i < 20; ++i) outs.push_back(cluster.message(0, 1, pattern(i * 1000, i), 3));
  cluster.settle();
  EXPECT_EQ(got->size(), 20U);
  for (const Pending& out : outs) EXPECT_TRUE(out.done());
  outs.clear();
  answers.clear();
  cluster.expect_clean();
}

TEST(Active, AHandlerMustNotWait) {
  Cluster cluster;
  std::string words;
  cluster.worker(1).set_handler(cluster.world(1), 3, [&](const ActiveMessage&) {
    try {
      cluster.worker(1).wait_until([] { return false; }, [] { return std::string(); });
    } catch (const Error& error) {
      words = error.what();
    }
  });
  const Pending out = cluster.message(0, 1, {}, 3);
  cluster.settle();
  EXPECT_NE(words.find("must not wait"), std::string::npos) << words;
}

TEST(Active, AHandlerThatThrowsAbortsItsCommunicator) {
  Cluster cluster;
  cluster.worker(1).set_handler(cluster.world(1), 3,
                                [](const ActiveMessage&) { throw std::runtime_error("bad input"); });
  const Pending waiting = cluster.recv(0, 1, 10);
  const Pending out = cluster.message(0, 1, {}, 3);
  cluster.settle();
  ASSERT_TRUE(waiting.done());
  EXPECT_EQ(waiting.status(), ErrorCode::aborted);
  EXPECT_NE(waiting.detail().find("bad input"), std::string::npos) << waiting.detail();
  EXPECT_NE(waiting.detail().find("rank 1"), std::string::npos) << waiting.detail();
  const Pending later = cluster.message(0, 1, {}, 3);
  cluster.settle();
  EXPECT_EQ(later.status(), ErrorCode::aborted);
}

TEST(Active, AHandlerMayRemoveOrReplaceItself) {
  Cluster cluster;
  core::Worker& worker = cluster.worker(1);
  std::string calls;
  const std::string long_lived(100, 'x');  // destroyed with the handler: shows use after free
  worker.set_handler(cluster.world(1), 3, [&, long_lived](const ActiveMessage&) {
    worker.set_handler(cluster.world(1), 3, [&](const ActiveMessage&) {
      worker.set_handler(cluster.world(1), 3, {});
      calls += "second ";
    });
    calls += long_lived.substr(0, 1) + "first ";
  });
  for (int i = 0; i < 3; ++i) {
    const Pending out = cluster.message(0, 1, {}, 3);
    cluster.settle();
  }
  EXPECT_EQ(calls, "xfirst second ");
  EXPECT_EQ(collect(cluster, 1, 3)->size(), 1U) << "the third waits for a new handler";
}

// Fetched a few at a time: the receiver's memory stays bounded whatever the sender announces.
TEST(Active, ManyLargeOnesAreBounded) {
  ClusterSettings settings{.options = {{"EAGER_WINDOW", "64K"}}};
  settings.fabric.manual = true;
  Cluster cluster(settings);
  cluster.connect_all();
  const auto got = collect(cluster, 1, 3);
  std::vector<Pending> outs;
  for (std::size_t i = 0; i < 40; ++i) outs.push_back(cluster.message(0, 1, pattern(30'000, i), 3));
  outs.push_back(cluster.message(0, 1, pattern(200'000, 40), 3));
  std::size_t most = 0;
  for (int idle = 0; idle < 5; ++idle) {
    if (cluster.fabric().step()) idle = -1;
    if (cluster.pass() > 0) idle = -1;
    std::size_t fetching = 0;
    const std::string text = cluster.worker(1).describe_all();
    for (auto at = text.find("active message"); at != std::string::npos; at = text.find("active message", at + 1))
      ++fetching;
    most = std::max(most, fetching);
  }
  EXPECT_EQ(most, 2U) << "two of 30000 bytes fit into the window of 64K";
  ASSERT_EQ(got->size(), 41U);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_TRUE((*got)[i].second == pattern(30'000, i)) << i;
  outs.clear();
  cluster.expect_clean();
}

TEST(Active, GoneSenderFreesTheMemoryOfItsMessage) {
  ClusterSettings settings{.ranks = 3, .options = {{"EAGER_WINDOW", "64K"}}};
  settings.fabric.manual = true;
  Cluster cluster(settings);
  cluster.connect_all();
  const auto got = collect(cluster, 2, 3);
  std::vector<Pending> lost;
  for (std::size_t i = 0; i < 5; ++i) lost.push_back(cluster.message(0, 2, pattern(60'000, 1), 3));
  cluster.fabric().deliver_all();
  cluster.worker(2).progress();
  const Pending out = cluster.message(1, 2, pattern(60'000, 2), 3);
  cluster.fabric().deliver_all();
  cluster.worker(2).progress();
  cluster.kill(0);
  cluster.settle();
  ASSERT_FALSE(got->empty());
  EXPECT_EQ(got->back(), (std::pair<Rank, Bytes>{1, pattern(60'000, 2)}));
  EXPECT_TRUE(out.done());
  EXPECT_NE(cluster.worker(2).describe_all().find("0 pending"), std::string::npos) << cluster.worker(2).describe_all();
}

}  // namespace
}  // namespace godwit::engine_test
