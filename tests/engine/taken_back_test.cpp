// Aborts while announced memory is read: the connection lives on, nobody takes wrong bytes for the message, and the
// memory is deregistered when the reader has answered.
#include <random>

#include "scenario.hpp"

namespace godwit::engine_test {
namespace {

constexpr std::uint32_t context = 2;
constexpr std::size_t announced = 200'000;  // bytes: not eager, and read in more pieces than are under way at a time

// Each rank has a second communicator, which will be aborted, next to the one that must not suffer.
class TakenBack : public ::testing::Test {
 protected:
  static ClusterSettings settings(bool manual) {
    ClusterSettings made{.ranks = 3};
    made.fabric.manual = manual;
    made.fabric.access_error_cuts = true;
    made.fabric.capabilities.max_rdma = 30'000;
    return made;
  }
  void start(bool manual) {
    cluster_ = std::make_unique<Cluster>(settings(manual));
    for (Rank rank = 0; rank < cluster_->size(); ++rank)
      groups_.push_back(&cluster_->worker(rank).add_group(core::make_group(context, rank, {0, 1, 2})));
    cluster_->connect_all();
  }
  core::Group& group(Rank rank) { return *groups_[static_cast<std::size_t>(rank)]; }
  Pending send(Rank from, Rank to, std::size_t bytes, Tag tag = 0) {
    return cluster_->send(from, to, pattern(bytes, static_cast<std::uint64_t>(tag)), tag, false, &group(from));
  }
  Pending recv(Rank at, Rank from, std::size_t bytes, Tag tag = 0) {
    return cluster_->recv(at, from, bytes, tag, &group(at));
  }
  void abort(Rank by) { cluster_->worker(by).abort_group(group(by), ErrorCode::aborted, "disk full"); }
  // Delivers one by one until the last request on the wire is this.
  void run_until(const std::string& last) {
    for (int i = 0; i < 1000 && (cluster_->fabric().script().empty() || cluster_->fabric().script().back() != last);
         ++i) {
      cluster_->fabric().step();
      cluster_->pass();
    }
    ASSERT_EQ(cluster_->fabric().script().back(), last);
  }
  void expect_the_others_go_on() {
    cluster_->settle();
    for (Rank from = 0; from < cluster_->size(); ++from) {
      const Rank to = (from + 1) % cluster_->size();
      Pending in = cluster_->recv(to, from, announced);
      const Pending out = cluster_->send(from, to, pattern(announced, 9));
      cluster_->settle();
      ASSERT_TRUE(in.done() && out.done());
      EXPECT_EQ(in.status(), ErrorCode::ok) << in.detail();
      EXPECT_EQ(in.buffer(), pattern(announced, 9));
    }
    EXPECT_EQ(cluster_->fabric().registrations(), 0U);
  }
  static void expect_aborted(const Pending& operation) {
    ASSERT_TRUE(operation.done());
    EXPECT_EQ(operation.status(), ErrorCode::aborted);
    EXPECT_NE(operation.detail().find("disk full"), std::string::npos) << operation.detail();
  }

  std::unique_ptr<Cluster> cluster_;
  std::vector<core::Group*> groups_;
};

TEST_F(TakenBack, WhileItIsRead) {
  for (const Rank by : {0, 1, 2}) {
    groups_.clear();
    start(true);
    const Pending in = recv(1, 0, announced), out = send(0, 1, announced);
    run_until("1>0 get 30000");
    abort(by);
    expect_the_others_go_on();
    expect_aborted(in);
    expect_aborted(out);
  }
}

TEST_F(TakenBack, BeforeItsReceiveIsPosted) {
  for (const Rank by : {0, 1, 2}) {
    groups_.clear();
    start(false);
    const Pending out = send(0, 1, announced);
    cluster_->settle();
    abort(by);
    expect_the_others_go_on();
    expect_aborted(out);
  }
}

TEST_F(TakenBack, BeforeTheAnnouncementComes) {
  for (const Rank by : {0, 1}) {
    groups_.clear();
    start(true);
    const Pending in = recv(1, 0, announced), out = send(0, 1, announced);
    abort(by);
    expect_the_others_go_on();
    expect_aborted(in);
    expect_aborted(out);
  }
}

TEST_F(TakenBack, ActiveMessages) {
  for (const Rank by : {0, 1}) {
    groups_.clear();
    start(false);
    const Pending early(cluster_->worker(0), cluster_->worker(0).post_active(group(0), pattern(announced, 1), 1, 5));
    cluster_->settle();
    abort(by);
    expect_the_others_go_on();
    expect_aborted(early);
  }
}

// A receiver that computes for a minute does not keep the sender from going on, but keeps the memory registered.
TEST_F(TakenBack, TheReaderIsBusy) {
  start(true);
  const Pending in = recv(1, 0, announced), out = send(0, 1, announced);
  run_until("1>0 get 30000");
  cluster_->stop(1);
  abort(0);
  for (int i = 0; i < 10; ++i) cluster_->worker(0).progress();
  EXPECT_FALSE(out.done()) << "the receiver could still take what it reads for the message";
  cluster_->settle();
  expect_aborted(out);
  EXPECT_FALSE(in.done());
  EXPECT_EQ(cluster_->fabric().registrations(), 1U);
  cluster_->resume(1);
  expect_the_others_go_on();
  expect_aborted(in);
}

TEST_F(TakenBack, TheReaderDies) {
  start(true);
  const Pending in = recv(1, 0, announced), out = send(0, 1, announced);
  run_until("1>0 get 30000");
  cluster_->stop(1);
  abort(0);
  cluster_->settle();
  EXPECT_EQ(cluster_->fabric().registrations(), 1U);
  cluster_->kill(1);
  cluster_->settle();
  EXPECT_EQ(cluster_->fabric().registrations(), 0U);
  expect_aborted(out);
}

TEST_F(TakenBack, TheSenderLeaves) {
  start(true);
  const Pending in = recv(1, 0, announced), out = send(0, 1, announced);
  run_until("1>0 get 30000");
  cluster_->stop(1);
  abort(0);
  cluster_->settle();
  cluster_->worker(0).shutdown(std::chrono::seconds(1));
  EXPECT_EQ(cluster_->fabric().registrations(), 0U);
}

// Whoever gets its buffer back writes to it: receives that have succeeded have not seen that.
TEST_F(TakenBack, AtRandomMoments) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    groups_.clear();
    start(true);
    std::deque<Pending> receives, sends;
    std::deque<Tag> tags;
    const auto scribble = [&] {
      for (Pending& out : sends)
        if (out.done()) out.buffer().assign(out.buffer().size(), std::byte{0xee});
    };
    const auto move = [&](std::uint64_t steps) {
      for (; steps > 0; --steps) {
        if (random() % 2 == 0) cluster_->fabric().step(random);
        cluster_->worker(static_cast<Rank>(random() % 3)).progress();
        scribble();
      }
    };
    for (Tag tag = 0; tag < 6; ++tag) {
      const auto from = static_cast<Rank>(random() % 3), to = static_cast<Rank>((from + 1 + random() % 2) % 3);
      if (random() % 4 != 0) {
        receives.push_back(recv(to, from, announced, tag));
        tags.push_back(tag);
      }
      if (random() % 4 != 0) sends.push_back(send(from, to, announced, tag));
      move(random() % 20);
    }
    const auto by = static_cast<Rank>(random() % 3);
    abort(by);
    if (random() % 2 == 0) abort(static_cast<Rank>(random() % 3));
    move(200);
    cluster_->settle();
    scribble();
    for (std::size_t i = 0; i < receives.size(); ++i) {
      ASSERT_TRUE(receives[i].done());
      if (receives[i].status() == ErrorCode::ok)
        EXPECT_EQ(receives[i].buffer(), pattern(announced, static_cast<std::uint64_t>(tags[i])));
      else
        expect_aborted(receives[i]);
    }
    for (const Pending& out : sends) EXPECT_TRUE(out.done());
    expect_the_others_go_on();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace godwit::engine_test
