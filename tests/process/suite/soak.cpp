// Random traffic with fixed seeds: every rank draws the same plan and plays its part; everything is checked.
#include "harness.hpp"

#include <algorithm>
#include <random>

namespace suite {
namespace {

using godwit::Communicator;
using godwit::Request;

struct Planned {
  int from, to;
  godwit::Tag tag;
  std::size_t bytes;
  bool shared;   // receive into godwit::allocate'd memory
  bool on_copy;  // on the second communicator
  bool synchronous;
  std::uint64_t seed;
};

std::vector<Planned> make_plan(std::mt19937& random, int messages) {
  std::vector<Planned> plan;
  const auto pick = [&](std::uint32_t n) { return random() % n; };
  for (int i = 0; i < messages; ++i) {
    const std::uint32_t limit = 1U << pick(21);
    plan.push_back({.from = static_cast<int>(pick(static_cast<std::uint32_t>(size()))),
                    .to = static_cast<int>(pick(static_cast<std::uint32_t>(size()))),
                    .tag = i,
                    .bytes = pick(limit + 1),
                    .shared = pick(2) == 0,
                    .on_copy = pick(3) == 0,
                    .synchronous = pick(5) == 0,
                    .seed = random()});
  }
  return plan;
}

/// One rank's part of a plan: posts sends and receives in an order of its own, then waits.
class Part {
 public:
  Part(Communicator copy, const std::vector<Planned>& plan, std::mt19937& own) : copy_(copy) {
    std::vector<std::function<void()>> actions;
    sends_.reserve(plan.size());
    for (const Planned& message : plan) {
      if (message.from == rank()) actions.push_back([this, &message] { send(message); });
      if (message.to == rank()) actions.push_back([this, &message] { receive(message); });
    }
    std::shuffle(actions.begin(), actions.end(), own);
    for (const auto& action : actions) {
      action();
      if (own() % 4 == 0) context().progress();
    }
  }

  void finish() {
    for (Incoming& in : receives_) {
      const godwit::MessageInfo info = in.request.wait();
      const std::span<const std::byte> data = in.message->shared ? std::span<const std::byte>(in.shared) : in.plain;
      ASSERT_EQ(info.size, in.message->bytes);
      ASSERT_EQ(info.source, in.message->from);
      ASSERT_EQ(first_wrong(data, in.message->seed), std::nullopt) << "message " << in.message->tag;
    }
    for (auto& [data, request] : sends_) request.wait();
  }

 private:
  struct Incoming {
    const Planned* message;
    std::vector<std::byte> plain;
    godwit::shared_vector<std::byte> shared;
    Request request;
  };

  Communicator comm_of(const Planned& message) { return message.on_copy ? copy_ : world(); }
  void send(const Planned& message) {
    auto& [data, request] = sends_.emplace_back(pattern(message.bytes, message.seed), Request());
    Communicator comm = comm_of(message);
    request = message.synchronous ? comm.issend_bytes(data.data(), data.size(), message.to, message.tag)
                                  : comm.isend(data, message.to, message.tag);
  }
  void receive(const Planned& message) {
    Incoming in{&message, {}, {}, {}};
    (message.shared ? in.shared.resize(message.bytes) : in.plain.resize(message.bytes));
    void* buffer = message.shared ? in.shared.data() : in.plain.data();
    in.request = comm_of(message).irecv_bytes(buffer, message.bytes, message.from, message.tag);
    receives_.push_back(std::move(in));
  }

  Communicator copy_;
  std::vector<std::pair<std::vector<std::byte>, Request>> sends_;
  std::vector<Incoming> receives_;
};

class Soak : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Seed, Soak, testing::Values(1, 2, 3));

TEST_P(Soak, MessagesCollectivesAndPutsTogether) {
  std::mt19937 common(GetParam()), own(GetParam() * 1000 + static_cast<std::uint32_t>(rank()));
  Communicator copy = world().dup();
  godwit::shared_vector<std::byte> memory(1 << 16);
  godwit::Window<std::byte> window = copy.window(memory);
  for (int round = 0; round < 15; ++round) {
    const std::vector<Planned> plan = make_plan(common, 40 * size());
    std::vector<std::int64_t> numbers(1 + common() % 20000, rank());
    Request reduction = copy.iallreduce(numbers, godwit::sum);
    const std::vector<std::byte> out = pattern(1 + common() % memory.size(), GetParam());
    Request put = window.put(out, right(), 0, {.notify = 1});
    Part part(copy, plan, own);
    part.finish();
    window.wait_notify(1);
    put.wait();
    ASSERT_EQ(first_wrong(std::span(memory).first(out.size()), GetParam()), std::nullopt);
    reduction.wait();
    ASSERT_EQ(numbers.back(), size() * (size() - 1) / 2);
    copy.barrier();
  }
  window.free();
}

}  // namespace
}  // namespace suite
