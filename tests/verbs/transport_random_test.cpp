// The order of packets as a fuzz: nothing is delivered unless a random step says so, on any link, in any order between
// links; everything must come, whole and in the order of its link, exactly once. With trouble, queue pairs, ports and
// single requests fail at any time, too, executed or not.
#include "stage.hpp"

#include <algorithm>
#include <cstring>
#include <random>

namespace godwit::verbs {
namespace {

constexpr Rank ranks = 3;
constexpr std::size_t slots = 512, slot_bytes = 600;

// What one rank does towards another, and what must come of it.
struct Traffic {
  Traffic(Node& its_user, Node& its_owner)
      : user(its_user), owner(its_owner), window(user, owner, slots * slot_bytes) {}

  std::vector<std::byte> payload(std::size_t which) const {
    const auto seed = which * 10 + static_cast<std::size_t>(user.rank * 3 + owner.rank);
    return pattern(which * 7919 % slot_bytes, seed);
  }

  // Everything is numbered: message `number`, or a put of its payload into slot `number`, notified or not.
  void act(std::mt19937& random) {
    if (number == slots) return;
    if (local.size() <= number) local.push_back(payload(number));
    const unsigned kind = random() % 4;
    WorkRequest request = kind == 0 ? send_request(local.back(), static_cast<std::int64_t>(number), random() % 2 == 0)
                                    : window.request(Op::put, local.back(), number * slot_bytes);
    request.cookie = number;
    if (kind == 1) request.imm = static_cast<std::uint32_t>(number);
    if (kind != 0) request.signalled = random() % 2 == 0;
    if (kind == 3) {  // reads what was put before: a read follows its writes
      if (!put_before || got.size() - reads_done > 8) return;
      request = window.request(Op::get, got.emplace_back(local[*put_before].size()), *put_before * slot_bytes);
      request.cookie = 1'000'000 + got.size() - 1;
      if (user.endpoint(owner.rank).post(std::span(&request, 1)) == 0) {
        got.pop_back();
      } else {
        expected.push_back(*put_before);
      }
      return;
    }
    core::Endpoint& endpoint = user.endpoint(owner.rank);
    const bool shortly = kind != 0 && !request.signalled && random() % 2 == 0;
    const bool accepted =
        shortly ? endpoint.put(local.back(), request.remote, request.imm) : endpoint.post(std::span(&request, 1)) == 1;
    if (!accepted) return;
    if (kind != 0) put_before = number;
    if (request.signalled) completions.push_back(number);
    if (kind < 2) arrivals.push_back({kind == 0 ? Kind::message : Kind::notify, number});
    if (kind == 2) quiet.push_back(number);
    ++number;
  }

  // At the owner.
  void arrive(const Received& received) {
    ASSERT_LT(seen, arrivals.size());
    const auto [kind, which] = arrivals[seen++];
    ASSERT_EQ(received.kind, kind);
    if (kind == Kind::message) {
      ASSERT_EQ(received.header.tag, static_cast<std::int64_t>(which));
      ASSERT_TRUE(received.payload == local[which]);
    } else {
      ASSERT_EQ(received.imm, which);
      expect_put(which);
      // Writes are not overtaken by what comes after them.
      for (; looked < quiet.size() && quiet[looked] < which; ++looked) expect_put(quiet[looked]);
    }
  }
  void expect_put(std::size_t which) const {
    const auto place = std::span(window.memory).subspan(which * slot_bytes, local[which].size());
    ASSERT_TRUE(std::ranges::equal(place, local[which])) << "put " << which;
  }

  // At the user.
  void complete(const Received& done) {
    ASSERT_EQ(done.status, ErrorCode::ok) << done.detail;
    if (done.cookie >= 1'000'000) {
      ASSERT_EQ(done.cookie - 1'000'000, reads_done);
      ASSERT_TRUE(got[reads_done] == local[expected[reads_done]]);
      ++reads_done;
      return;
    }
    const auto found = std::ranges::find(completions, done.cookie);
    ASSERT_NE(found, completions.end()) << "completion " << done.cookie << " twice";
    completions.erase(found);
  }

  bool finished() const {
    return number == slots && seen == arrivals.size() && completions.empty() && reads_done == got.size();
  }

  Node &user, &owner;
  Window window;
  std::size_t number = 0, seen = 0, looked = 0, reads_done = 0;
  std::optional<std::size_t> put_before;
  std::deque<std::vector<std::byte>> local, got;
  std::vector<std::size_t> expected, completions, quiet;
  std::vector<std::pair<Kind, std::size_t>> arrivals;
};

// Failures that may pass, at random.
class Trouble {
 public:
  Trouble(Stage& stage, std::size_t devices) : stage_(stage), devices_(devices) {}
  void act(std::mt19937& random) {
    const auto rank = static_cast<Rank>(random() % ranks);
    const auto peer = static_cast<Rank>((rank + 1 + random() % (ranks - 1)) % ranks);
    const std::size_t device = random() % devices_;
    for (auto& [port, steps] : down_)
      if (steps > 0 && --steps == 0) stage_.fabric.set_port(stage_.port(port.first, port.second), true);
    const auto what = random() % 120;
    if (what > 2 || left_ == 0) return;
    --left_;
    switch (what) {
      case 0: return stage_.fabric.fail_pair(pair_of(stage_.node(rank), peer));
      case 1:
        down_[{rank, device}] = 1 + static_cast<unsigned>(random() % 60);
        return stage_.fabric.set_port(stage_.port(rank, device), false);
      case 2:
        return stage_.process(rank).fail_request(
            std::array{IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ}[random() % 4],
            1 + static_cast<unsigned>(random() % 4), random() % 2 == 0 ? IBV_WC_RETRY_EXC_ERR : IBV_WC_LOC_QP_OP_ERR,
            random() % 2 == 0 ? fake_verbs::Executed::yes : fake_verbs::Executed::no);
      default: return;
    }
  }
  void end() {
    for (Rank rank = 0; rank < ranks; ++rank)
      for (std::size_t device = 0; device < devices_; ++device) stage_.fabric.set_port(stage_.port(rank, device), true);
  }

 private:
  Stage& stage_;
  const std::size_t devices_;                              // per host
  unsigned left_ = 25;                                     // recovering takes longer than many steps: not for ever
  std::map<std::pair<Rank, std::size_t>, unsigned> down_;  // port: steps until it is up again
};

class Random : public ::testing::TestWithParam<unsigned> {};

std::unique_ptr<Stage> make_stage(const Options& options, bool of_infiniband, std::size_t devices) {
  if (devices == 1) return std::make_unique<Stage>(options, of_infiniband ? infiniband : roce);
  return std::make_unique<Stage>(options, of_infiniband ? two_infiniband : two_roce);
}

void play(unsigned seed, bool with_trouble, std::size_t devices = 1) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const Options options = seed % 3 == 0   ? Options{}
                          : seed % 3 == 1 ? Options{{"IB_CREDITS", "4"}, {"IB_SEND_QUEUE", "16"}, {"IB_MESSAGE", "1K"}}
                                          : Options{{"IB_CREDITS", "7"}, {"IB_INLINE", "0"}, {"IB_MESSAGE", "1K"}};
  const auto made = make_stage(options, seed % 2 == 0, devices);
  Stage& stage = *made;
  for (Rank one = 0; one < ranks; ++one)
    for (Rank other = 0; other < one; ++other) connect(stage.node(one), stage.node(other));
  std::map<std::pair<Rank, Rank>, std::unique_ptr<Traffic>> traffic;  // user, owner
  for (Rank user = 0; user < ranks; ++user)
    for (Rank owner = 0; owner < ranks; ++owner)
      if (user != owner) traffic[{user, owner}] = std::make_unique<Traffic>(stage.node(user), stage.node(owner));
  stage.fabric.hold(random() % 4 == 0 ? Hold::acknowledgements : Hold::everything);
  Trouble trouble(stage, devices);
  const auto step = [&] {
    if (with_trouble) trouble.act(random);
    for (auto& [ends, flow] : traffic)
      for (auto n = random() % 4; n > 0; --n) flow->act(random);
    for (auto n = random() % 40; n > 0; --n) stage.fabric.step(random);
    Node& polled = stage.node(static_cast<Rank>(random() % ranks));
    polled.poll(1 + random() % 32);
    for (; !polled.received.empty(); polled.received.pop_front()) {
      const Received& received = polled.received.front();
      ASSERT_NE(received.kind, Kind::peer_lost) << received.detail;
      if (received.kind == Kind::done)
        traffic.at({polled.rank, received.peer})->complete(received);
      else
        traffic.at({received.peer, polled.rank})->arrive(received);
    }
  };
  const auto all_finished = [&] {
    return ::testing::Test::HasFatalFailure() ||
           std::ranges::all_of(traffic, [](const auto& entry) { return entry.second->finished(); });
  };
  EXPECT_TRUE(until(step, all_finished));
  trouble.end();
  stage.fabric.hold(Hold::nothing);  // puts that nothing came after
  if (with_trouble)                  // the last failures may still be recovered from
    for (Rank one = 0; one < ranks; ++one)
      for (Rank other = 0; other < one; ++other) expect_they_talk(stage, stage.node(one), stage.node(other));
  for (const auto& [ends, flow] : traffic)
    for (const std::size_t put : flow->quiet) flow->expect_put(put);
  EXPECT_EQ(stage.not_ready(), 0U);
}

TEST_P(Random, OrderAndCompleteness) {
  for (unsigned i = 0; i < 25 && !HasFailure(); ++i) play(GetParam() * 25 + i, false);
}

TEST_P(Random, OrderAndCompletenessInTrouble) {
  for (unsigned i = 0; i < 8 && !HasFailure(); ++i) play(GetParam() * 8 + i, true);
}

TEST_P(Random, OrderAndCompletenessOverTwoRails) {
  for (unsigned i = 0; i < 8 && !HasFailure(); ++i) play(GetParam() * 8 + i, true, 2);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Random, ::testing::Range(0U, 12U));

}  // namespace
}  // namespace godwit::verbs
