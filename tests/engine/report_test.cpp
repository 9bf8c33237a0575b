// Words: what is pending, who waits for whom, and since when.
#include "scenario.hpp"

namespace godwit::engine_test {
namespace {

void expect_words(const std::string& text, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words)
    EXPECT_NE(text.find(word), std::string::npos) << "no '" << word << "' in: " << text;
}

TEST(Report, DescribesEveryKindOfOperation) {
  Cluster cluster({.ranks = 3, .fabric = {.manual = true}});
  cluster.connect_all();
  Exposed window(cluster, 1, 200'000);
  cluster.clock().set_ms(10'000);
  core::Worker& worker = cluster.worker(0);
  const Bytes data = pattern(100'000, 1);
  Bytes result(100'000);
  std::vector<Pending> all;
  all.push_back(cluster.recv(0, 2, 64, 17));
  all.push_back(cluster.recv(0, any_source, 65, any_tag));
  all.push_back(cluster.send(0, 1, data, 18));
  all.push_back(cluster.message(0, 1, data, 19));
  all.emplace_back(worker, worker.post_put(window.remote, data, 0, {}));
  all.emplace_back(worker, worker.post_get(window.remote, result, 0));
  all.emplace_back(worker, worker.post_atomic(Operation::Kind::fetch_add, window.remote, 0, 4, 1, 0, nullptr));
  all.emplace_back(worker, worker.post_atomic(Operation::Kind::compare_swap, window.remote, 8, 8, 1, 0, nullptr));
  cluster.clock().set_ms(12'500);
  const std::string text = worker.describe_all();
  expect_words(text,
               {"8 pending operations, 0 unexpected messages", "rank 1 (node1, pid 1001): the wire waits for the test",
                "receive from rank 2 (node2, pid 1002), tag 17, communicator 0, 64 bytes, no matching message has "
                "come, since 2.5 s",
                "receive from any rank, any tag, communicator 0, 65 bytes",
                "send to rank 1 (node1, pid 1001), tag 18, communicator 0, 100000 bytes, protocol rendezvous, "
                "announced, the receiver has not matched it, since 2.5 s",
                "active message to rank 1 (node1, pid 1001), communicator 0, 100000 bytes, protocol active/rendezvous",
                "put to rank 1 (node1, pid 1001), 100000 bytes, protocol put/direct, 100000 bytes moved",
                "get from rank 1 (node1, pid 1001), 100000 bytes, protocol get/direct",
                "fetch_add to rank 1 (node1, pid 1001), 4 bytes, protocol atomic/emulated",
                "compare_swap to rank 1 (node1, pid 1001), 8 bytes, protocol compare_swap/direct"});
  cluster.settle();
  expect_words(cluster.worker(1).describe_all(), {"1 unexpected messages",
                                                  "unexpected message from rank 0 (node0, pid 1000), "
                                                  "communicator 0, tag 18, 100000 bytes"});
}

// On request, from any thread, by the worker's own thread.
TEST(Report, GoesToTheLog) {
  Cluster cluster;
  const Pending in = cluster.recv(0, 1, 64, 17);
  cluster.worker(0).request_report();
  EXPECT_TRUE(cluster.worker(0).report_pending());
  EXPECT_EQ(cluster.log().find("pending operations"), std::string::npos);
  cluster.worker(0).progress();
  EXPECT_FALSE(cluster.worker(0).report_pending());
  expect_words(cluster.log(), {"1 pending operations", "receive from rank 1 (node1, pid 1001), tag 17"});
}

TEST(Stall, AWaitSaysWhatItWaitsFor) {
  Cluster cluster({.options = {{"STALL_WARNING", "30"}, {"WAIT", "yield"}}});
  const Pending in = cluster.recv(0, 1, 64, 17);
  core::Worker& worker = cluster.worker(0);
  // Each look takes ten seconds of the manual clock.
  int looks = 0;
  const auto wait = [&](int most) {
    looks = 0;
    worker.wait_until(
        [&] {
          cluster.clock().set_ms(cluster.clock().now_ms() + 100);
          return ++looks > most;
        },
        [&] { return worker.describe(*in.operation()); });
  };
  wait(250);
  EXPECT_EQ(cluster.log().find("has waited"), std::string::npos) << "25 s are no stall";
  wait(950);
  const std::string log = cluster.log();
  expect_words(log,
               {"has waited 30", "has waited 60", "has waited 9", "receive from rank 1 (node1, pid 1001), tag 17"});
  std::size_t warnings = 0;
  for (auto at = log.find("has waited"); at != std::string::npos; at = log.find("has waited", at + 1)) ++warnings;
  EXPECT_EQ(warnings, 3U);
}

TEST(Stall, CanBeTurnedOff) {
  Cluster cluster({.options = {{"STALL_WARNING", "0"}, {"WAIT", "yield"}}});
  int looks = 0;
  cluster.worker(0).wait_until(
      [&] {
        cluster.clock().set_ms(cluster.clock().now_ms() + 100'000);
        return ++looks > 300;
      },
      [] { return std::string("nothing"); });
  EXPECT_EQ(cluster.log().find("has waited"), std::string::npos);
}

// Somebody who only waits for a peer that he never talked to finds out that it is dead.
TEST(Stall, AWaitLooksWhetherItsSourcesLive) {
  for (const Rank source : {Rank{1}, any_source}) {
    Cluster cluster({.options = {{"WAIT", "yield"}}});
    cluster.kill(1);
    const Pending in = cluster.recv(0, source, 64, 17);
    cluster.worker(0).wait_until(
        [&] {
          cluster.clock().set_ms(cluster.clock().now_ms() + 1);
          return in.done() || cluster.clock().now_ms() > 60'000;
        },
        [] { return std::string(); });
    ASSERT_TRUE(in.done());
    EXPECT_EQ(in.status(), ErrorCode::peer_failed);
    EXPECT_LT(cluster.clock().now_ms(), 2000);
  }
}

}  // namespace
}  // namespace godwit::engine_test
