// Aborted communicators and collectives that do not fit together: everybody learns it, with both calls in words.
#include "scenario.hpp"

namespace godwit::engine_test {
namespace {

CollectiveCall allreduce_of(std::size_t count) {
  return {.collective = Collective::allreduce, .count = count, .type = DataType::float32, .op = ReduceOp::sum};
}
constexpr CollectiveCall a_barrier{.collective = Collective::barrier};

// A rank's part of a "collective": a send to `to` and a receive from `from`, as an executor does it.
struct Part {
  Part(Cluster& cluster, Rank rank, const CollectiveCall& call, Rank to, Rank from, std::size_t size = 8)
      : in(size), out(pattern(size, 1)) {
    core::Worker& worker = cluster.worker(rank);
    core::Group& group = cluster.world(rank);
    const std::uint32_t signature = core::signature_of(call);
    const auto sequence = static_cast<Tag>(worker.begin_collective(group, call, signature));
    core::RecvArguments recv_arguments;
    recv_arguments.group = &group;
    recv_arguments.data = in;
    recv_arguments.from = from;
    recv_arguments.tag = sequence;
    recv_arguments.collective = true;
    recv_arguments.signature = signature;
    recv = Pending(worker, worker.post_recv(recv_arguments));
    core::SendArguments send_arguments;
    send_arguments.group = &group;
    send_arguments.data = out;
    send_arguments.to = to;
    send_arguments.tag = sequence;
    send_arguments.collective = true;
    send_arguments.signature = signature;
    send = Pending(worker, worker.post_send(send_arguments));
  }
  Bytes in, out;
  Pending recv, send;
};

void expect_words(const std::string& text, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words)
    EXPECT_NE(text.find(word), std::string::npos) << "no '" << word << "' in: " << text;
}

// --- abort_group -----------------------------------------------------------------------------------------------

TEST(Abort, ReachesEveryMemberAndEveryOperation) {
  for (const Variant& variant : variants()) {
    Cluster cluster({.ranks = 4, .fabric = variant.settings()});
    std::vector<Pending> pending;
    pending.push_back(cluster.recv(0, any_source, 10));
    pending.push_back(cluster.recv(1, 0, 10));
    pending.push_back(cluster.send(2, 3, pattern(100'000, 1)));
    pending.push_back(cluster.send(3, 2, pattern(10, 1), 0, true));
    pending.push_back(cluster.message(1, 3, pattern(100'000, 1), 9));
    cluster.settle();
    cluster.worker(2).abort_group(cluster.world(2), ErrorCode::aborted, "disk full");
    cluster.settle();
    for (const Pending& operation : pending) {
      ASSERT_TRUE(operation.done());
      EXPECT_EQ(operation.status(), ErrorCode::aborted);
      expect_words(operation.detail(), {"disk full"});
    }
    expect_words(pending[0].detail(), {"rank 2 (node2, pid 1002)"});
    for (Rank rank = 0; rank < 4; ++rank) {
      const Pending send = cluster.send(rank, (rank + 1) % 4, pattern(10, 1)), recv = cluster.recv(rank, 0, 10);
      EXPECT_FALSE(send.done()) << "posting does not fail, waiting does";
      cluster.settle();
      EXPECT_EQ(send.status(), ErrorCode::aborted);
      EXPECT_EQ(recv.status(), ErrorCode::aborted);
    }
    pending.clear();
    EXPECT_TRUE(cluster.worker(0).describe_all().starts_with("0 pending")) << cluster.worker(0).describe_all();
    EXPECT_EQ(cluster.fabric().registrations(), 0U);
  }
}

TEST(Abort, OtherCommunicatorsGoOn) {
  Cluster cluster;
  core::Group& a = cluster.worker(0).add_group(core::make_group(2, 0, {0, 1}));
  core::Group& b = cluster.worker(1).add_group(core::make_group(2, 1, {0, 1}));
  cluster.worker(0).abort_group(a, ErrorCode::aborted, "enough");
  cluster.settle();
  EXPECT_TRUE(b.broken);
  Pending in = cluster.recv(1, 0, 10);
  const Pending out = cluster.send(0, 1, pattern(10, 1));
  cluster.settle();
  EXPECT_EQ(in.status(), ErrorCode::ok);
  EXPECT_EQ(in.buffer(), pattern(10, 1));
}

TEST(Abort, BeforeTheOtherSideHasTheCommunicator) {
  Cluster cluster;
  core::Group& theirs = cluster.worker(0).add_group(core::make_group(2, 0, {0, 1}));
  cluster.worker(0).abort_group(theirs, ErrorCode::aborted, "changed my mind");
  cluster.settle();
  const core::Group& ours = cluster.worker(1).add_group(core::make_group(2, 1, {0, 1}));
  EXPECT_TRUE(ours.broken);
  expect_words(ours.error.message(), {"rank 0", "changed my mind"});
}

TEST(Abort, LongReasonsAreCut) {
  for (const Variant& variant : variants()) {
    Cluster cluster({.fabric = variant.settings()});
    cluster.worker(0).abort_group(cluster.world(0), ErrorCode::aborted, std::string(100'000, 'x'));
    cluster.settle();
    EXPECT_TRUE(cluster.world(1).broken);
    expect_words(cluster.world(1).error.message(), {"xxxxxxxx"});
    EXPECT_LT(cluster.world(1).error.message().size(), 1100U);
  }
}

TEST(Abort, AMemberThatIsGoneDoesNotMatter) {
  Cluster cluster({.ranks = 3});
  cluster.connect_all();
  cluster.kill(2);
  cluster.settle();
  cluster.worker(0).abort_group(cluster.world(0), ErrorCode::aborted, "rank 2 is gone");
  cluster.settle();
  EXPECT_TRUE(cluster.world(1).broken);
}

// A long message of an aborted communicator does not go on to fill the wire.
TEST(Abort, AStreamStops) {
  ClusterSettings settings{.fabric = {.manual = true}};
  core::Capabilities& can = settings.fabric.capabilities;
  can.rma = can.private_rma = false;
  can.max_inline = 0;
  Cluster cluster(settings);
  cluster.connect_all();
  const Pending in = cluster.recv(1, 0, 1'000'000), out = cluster.send(0, 1, pattern(1'000'000, 1));
  while (cluster.fabric().script().empty() || cluster.fabric().script().back() != "0>1 data 8192") {
    cluster.fabric().step();
    cluster.pass();
  }
  cluster.worker(0).abort_group(cluster.world(0), ErrorCode::aborted, "enough");
  EXPECT_FALSE(out.done()) << "the wire still reads its buffer";
  const std::size_t before = cluster.fabric().script().size();
  for (int i = 0; i < 5; ++i) cluster.worker(0).progress();
  cluster.settle();
  ASSERT_TRUE(in.done() && out.done());
  EXPECT_EQ(out.status(), ErrorCode::aborted);
  const auto script = cluster.fabric().script();
  for (std::size_t i = before; i < script.size(); ++i) EXPECT_NE(script[i], "0>1 data 8192");
}

// --- mismatches ------------------------------------------------------------------------------------------------

// `late`: the message meets a posted receive. Else it comes before the receiver makes its call. `size`: rendezvous too.
class Mismatch : public ::testing::TestWithParam<std::tuple<bool, std::size_t>> {};

TEST_P(Mismatch, BothSidesAreNamedEverywhere) {
  const auto [late, size] = GetParam();
  Cluster cluster({.ranks = 3});
  cluster.connect_all();
  const Pending user = cluster.recv(2, 0, 10);  // a user's message on the same communicator
  std::vector<std::unique_ptr<Part>> parts;
  parts.push_back(std::make_unique<Part>(cluster, 0, allreduce_of(1000), 1, 2, size));
  if (!late) cluster.settle();
  parts.push_back(std::make_unique<Part>(cluster, 1, a_barrier, 2, 0, size));
  if (!late) cluster.settle();
  parts.push_back(std::make_unique<Part>(cluster, 2, allreduce_of(1000), 0, 1, size));
  cluster.settle();
  for (const auto& part : parts) {
    for (const Pending* operation : {&part->recv, &part->send}) {
      ASSERT_TRUE(operation->done());
      if (operation->status() == ErrorCode::ok) continue;
      EXPECT_EQ(operation->status(), ErrorCode::mismatch);
      expect_words(operation->detail(),
                   {"collective #0", "called allreduce of 1000", "rank 1 (node1, pid 1001) called barrier"});
    }
  }
  EXPECT_EQ(user.status(), ErrorCode::mismatch);
  for (Rank rank = 0; rank < 3; ++rank) {
    EXPECT_TRUE(cluster.world(rank).broken);
    EXPECT_EQ(cluster.world(rank).error.code(), ErrorCode::mismatch);
    expect_words(cluster.world(rank).error.message(), {"allreduce of 1000", "barrier", "rank 1"});
  }
  EXPECT_EQ(cluster.fabric().registrations(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Of, Mismatch, ::testing::Combine(::testing::Bool(), ::testing::Values(8, 100'000)));

TEST(Mismatch, EqualCallsFit) {
  Cluster cluster({.ranks = 3});
  for (int round = 0; round < 100; ++round) {
    std::vector<std::unique_ptr<Part>> parts;
    for (Rank rank = 0; rank < 3; ++rank) {
      parts.push_back(std::make_unique<Part>(cluster, rank, round % 2 == 0 ? a_barrier : allreduce_of(7),
                                             (rank + 1) % 3, (rank + 2) % 3));
      if (round % 3 == 0) cluster.settle();
    }
    cluster.settle();
    for (const auto& part : parts) {
      EXPECT_EQ(part->recv.status(), ErrorCode::ok);
      EXPECT_TRUE(part->recv.done() && part->send.done());
    }
  }
  EXPECT_FALSE(cluster.world(0).broken);
}

// One rank is a call behind: its message of call #1 is one of call #0 elsewhere, with another signature.
TEST(Mismatch, ASkippedCall) {
  Cluster cluster;
  const Part skipped(cluster, 0, a_barrier, 1, 1), second(cluster, 0, allreduce_of(5), 1, 1);
  const Part first(cluster, 1, allreduce_of(5), 0, 0);
  cluster.settle();
  EXPECT_EQ(cluster.world(0).error.code(), ErrorCode::mismatch);
  EXPECT_EQ(cluster.world(1).error.code(), ErrorCode::mismatch);
  expect_words(cluster.world(0).error.message(),
               {"rank 0 (node0, pid 1000) called barrier", "rank 1 (node1, pid 1001) called allreduce"});
}

// Who sent the odd message does not answer: after a second it is reported without that.
TEST(Mismatch, WithoutAnAnswer) {
  Cluster cluster({.ranks = 3, .without_worker = {1}});
  Rogue rogue(cluster, 1, 0);
  const Part part(cluster, 0, allreduce_of(5), 2, 1);
  rogue.send({.context = 1, .signature = 4711, .tag = 0}, pattern(8, 1));
  cluster.settle();
  EXPECT_FALSE(part.recv.done());
  const auto question = rogue.receive();
  ASSERT_TRUE(question);
  EXPECT_EQ(question->header.kind, core::MessageKind::abort);
  EXPECT_EQ(question->as<core::AbortMessage>().stage, core::AbortStage::question);
  cluster.clock().set_ms(999);
  cluster.settle();
  EXPECT_FALSE(part.recv.done());
  cluster.clock().set_ms(1000);
  cluster.settle();
  ASSERT_TRUE(part.recv.done());
  EXPECT_EQ(part.recv.status(), ErrorCode::mismatch);
  expect_words(part.recv.detail(), {"rank 0", "allreduce of 5", "rank 1 (node1, pid 1001) called something else"});
  expect_words(cluster.world(2).error.message(), {"allreduce of 5", "rank 1 (node1, pid 1001) called something else"});
}

TEST(Mismatch, TheOtherSideDies) {
  Cluster cluster({.without_worker = {1}});
  Rogue rogue(cluster, 1, 0);
  const Pending user = cluster.recv(0, any_source, 10);
  const Part part(cluster, 0, allreduce_of(5), 0, 1);
  rogue.send({.context = 1, .signature = 4711, .tag = 0}, pattern(8, 1));
  cluster.kill(1);
  cluster.settle();
  EXPECT_TRUE(part.recv.done() && user.done());
  EXPECT_TRUE(cluster.world(0).broken);
}

TEST(Mismatch, TheOtherSideHasNotMadeTheCall) {
  Cluster cluster({.without_worker = {1}});
  Rogue rogue(cluster, 1, 0);
  rogue.send({.kind = core::MessageKind::abort, .context = 0},
             core::wire_bytes(core::AbortMessage{ErrorCode::mismatch, core::AbortStage::question, {}, 7}));
  const auto answer = rogue.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->as<core::AbortMessage>().stage, core::AbortStage::answer);
  expect_words(cluster.world(0).error.message(), {"has not made that call yet"});
}

}  // namespace
}  // namespace godwit::engine_test
