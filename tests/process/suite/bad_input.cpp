// Mistakes of the caller are errors at the call, say what is wrong, and leave everything usable.
#include "harness.hpp"

#include <array>
#include <chrono>
#include <climits>

namespace suite {
namespace {

using godwit::Collective;
using godwit::CollectiveCall;
using godwit::Communicator;
using godwit::ErrorCode;

void expect_invalid(const std::function<void()>& call, const char* what) {
  EXPECT_EQ(error_of(call), ErrorCode::invalid_argument) << what;
}

class BadInput : public testing::Test {
 protected:
  void TearDown() override {
    expect_usable(world());
    world().barrier();
  }
  std::array<std::byte, 8> data{};
};

TEST_F(BadInput, RanksOutOfRange) {
  for (const int wrong : {-2, -1, size(), size() + 1, INT_MIN, INT_MAX}) {
    expect_invalid([&] { world().send(data, wrong); }, "send");
    expect_invalid([&] { world().isend(data, wrong).wait(); }, "isend");
    expect_invalid([&] { world().message(data, wrong, 0).wait(); }, "message");
    if (wrong == godwit::any_source) continue;
    expect_invalid([&] { world().recv(data, wrong); }, "recv");
    expect_invalid([&] { world().iprobe(wrong); }, "iprobe");
    expect_invalid([&] { world().improbe(wrong); }, "improbe");
  }
}

TEST_F(BadInput, TagsOutOfRange) {
  for (const godwit::Tag wrong : {godwit::Tag{-1}, godwit::Tag{-2}, godwit::Tag{INT64_MIN}})
    expect_invalid([&] { world().send(data, right(), wrong); }, "send");
  expect_invalid([&] { world().recv(data, left(), -2); }, "recv");
}

TEST_F(BadInput, NullBuffersWithASize) {
  expect_invalid([&] { world().send_bytes(nullptr, 1, right()); }, "send");
  expect_invalid([&] { world().irecv_bytes(nullptr, 1, left()).wait(); }, "irecv");
  expect_invalid([&] { world().message_bytes(nullptr, 8, right(), 1).wait(); }, "message");
  expect_invalid([&] { world().region_bytes(nullptr, 8); }, "region");
}

TEST_F(BadInput, AbsurdSizes) {
  const std::size_t absurd = ~std::size_t{0} - 7;  // what a negative length becomes
  expect_invalid([&] { world().send_bytes(data.data(), absurd, right()); }, "send");
  expect_invalid([&] { world().irecv_bytes(data.data(), absurd, left()).wait(); }, "irecv");
  expect_invalid([&] { world().region_bytes(data.data(), absurd); }, "region");
}

TEST_F(BadInput, Collectives) {
  Communicator comm = world().dup();
  std::vector<double> vector(4);
  const CollectiveCall good{.collective = Collective::allreduce,
                            .send = vector.data(),
                            .recv = vector.data(),
                            .count = 4,
                            .type = godwit::DataType::float64,
                            .op = godwit::sum,
                            .root = 0};
  const auto with = [&](auto change) {
    CollectiveCall call = good;
    change(call);
    return [comm, call]() mutable { comm.collective(call); };
  };
  for (const int root : {-1, size(), INT_MAX}) {
    const auto change = [&](CollectiveCall& call) { call.collective = Collective::broadcast, call.root = root; };
    expect_invalid(with(change), "root");
  }
  expect_invalid(with([](CollectiveCall& call) { call.send = nullptr; }), "null send buffer");
  expect_invalid(with([](CollectiveCall& call) { call.recv = nullptr; }), "null receive buffer");
  expect_invalid(with([](CollectiveCall& call) { call.count = ~std::size_t{0} / 4; }), "count times size overflows");
  expect_invalid(with([](CollectiveCall& call) { call.type = static_cast<godwit::DataType>(99); }), "type");
  expect_invalid(with([](CollectiveCall& call) { call.op = static_cast<godwit::ReduceOp>(99); }), "operation");
  expect_invalid(with([](CollectiveCall& call) { call.collective = static_cast<Collective>(99); }), "kind");
  std::vector<double> too_short(4 * static_cast<std::size_t>(size()) - 1);
  expect_invalid([&] { comm.allgather(vector, too_short); }, "receive buffer too short");
  comm.allreduce(vector, godwit::sum);  // nothing has been sent: all ranks are still in step
}

TEST_F(BadInput, ListsOfRanks) {
  const std::vector<godwit::Rank> twice{rank(), rank()}, outside{rank(), size()}, without{(rank() + 1) % size()}, none;
  expect_invalid([&] { world().from_ranks(twice); }, "a rank twice");
  expect_invalid([&] { world().from_ranks(outside); }, "a rank that does not exist");
  expect_invalid([&] { world().from_ranks(none); }, "an empty list");
  if (size() > 1) expect_invalid([&] { world().from_ranks(without); }, "a list without this rank");
}

TEST_F(BadInput, EmptyHandles) {
  Communicator empty;
  EXPECT_FALSE(empty);
  expect_invalid([&] { empty.send(data, 0); }, "send");
  expect_invalid([&] { empty.barrier(); }, "barrier");
  godwit::Request done;
  EXPECT_TRUE(done.done());
  done.wait();
}

// Ranks that disagree about a collective: an error on every rank, soon, and other communicators go on. The call
// itself may still end well (a root of a broadcast waits for nobody): then a later one tells.
void check_mismatch(const std::function<void(Communicator&, bool different)>& call, const char* what) {
  Communicator comm = world().dup();
  const ErrorCode code = error_of([&] {
    call(comm, comm.rank() == 0);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < end) comm.barrier();
  });
  EXPECT_TRUE(code == ErrorCode::mismatch || code == ErrorCode::aborted) << what << ": " << to_string(code);
  expect_usable(world());
}

TEST_F(BadInput, RanksDisagreeAboutACollective) {
  if (size() == 1) GTEST_SKIP() << "needs somebody to disagree with";
  for (const std::size_t count : {std::size_t{10}, std::size_t{200000}}) {
    std::vector<float> floats(count + 1);
    std::vector<std::int32_t> ints(count + 1);
    const auto floats_of = [&](std::size_t length) { return std::span(floats).first(length); };
    check_mismatch(
        [&](Communicator& comm, bool odd) { comm.allreduce(floats_of(odd ? count : count + 1), godwit::sum); },
        "count");
    check_mismatch([&](Communicator& comm, bool odd) { comm.allreduce(floats, odd ? godwit::sum : godwit::max); },
                   "operation");
    check_mismatch(
        [&](Communicator& comm, bool odd) {
          if (odd)
            comm.allreduce(floats, godwit::sum);
          else
            comm.allreduce(ints, godwit::sum);
        },
        "type");
    check_mismatch(
        [&](Communicator& comm, bool odd) {
          if (odd)
            comm.allreduce(floats, godwit::sum);
          else
            comm.broadcast(floats, 0);
        },
        "kind");
    check_mismatch([&](Communicator& comm, bool odd) { comm.broadcast(floats, odd ? 0 : 1); }, "root");
  }
}

}  // namespace
}  // namespace suite
