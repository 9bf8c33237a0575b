// Nonblocking collectives, several at a time, on several communicators, among messages.
#include "harness.hpp"

#include <algorithm>
#include <random>

namespace suite {
namespace {

using godwit::Communicator;
using godwit::Request;

TEST(Nonblocking, SeveralOnOneCommunicatorFinishInAnyOrder) {
  constexpr std::size_t calls = 20;
  std::vector<std::vector<std::int64_t>> data(calls);
  std::vector<Request> requests;
  for (std::size_t i = 0; i < calls; ++i) {
    data[i].assign(1 + i * i * 97, static_cast<std::int64_t>(i) + rank());
    requests.push_back(world().iallreduce(data[i], godwit::sum));
  }
  std::vector<std::size_t> order(calls);
  for (std::size_t i = 0; i < calls; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<std::uint32_t>(rank())));
  const std::int64_t ranks = size();
  for (const std::size_t i : order) {
    requests[i].wait();
    const std::int64_t expected = static_cast<std::int64_t>(i) * ranks + ranks * (ranks - 1) / 2;
    ASSERT_TRUE(std::all_of(data[i].begin(), data[i].end(), [=](auto x) { return x == expected; })) << "call " << i;
  }
}

TEST(Nonblocking, CommunicatorsMakeProgressIndependently) {
  Communicator copy = world().dup(), reversed = world().split(0, -rank());
  std::vector<double> a(5000, 1.0), b(5000, 2.0), c(5000, reversed.rank() == 0 ? 7.0 : 0.0);
  // Orders differ between ranks: only calls on the same communicator have an order.
  Request on_a, on_b, on_c;
  const auto start_a = [&] { on_a = world().iallreduce(a, godwit::sum); };
  const auto start_b = [&] { on_b = copy.iallreduce(b, godwit::prod); };
  const auto start_c = [&] { on_c = reversed.ibroadcast(c, 0); };
  if (rank() % 2 == 0) {
    start_a();
    start_b();
    start_c();
    godwit::wait_all(on_c, on_b, on_a);
  } else {
    start_c();
    start_a();
    start_b();
    godwit::wait_all(on_b, on_a, on_c);
  }
  EXPECT_EQ(a, std::vector<double>(5000, size()));
  EXPECT_EQ(b, std::vector<double>(5000, static_cast<double>(1 << size())));
  EXPECT_EQ(c, std::vector<double>(5000, 7.0));
}

TEST(Nonblocking, MessagesGoOnDuringCollectives) {
  std::vector<float> data(200000, 1.0F);
  Request reduction = world().iallreduce(data, godwit::sum);
  for (std::size_t bytes : {std::size_t{0}, std::size_t{100}, std::size_t{100000}}) expect_usable(world(), bytes);
  Request barrier = world().ibarrier();
  expect_usable(world(), 10);
  godwit::wait_all(barrier, reduction);
  EXPECT_EQ(data, std::vector<float>(200000, static_cast<float>(size())));
}

TEST(Nonblocking, EveryKindInFlightAtOnce) {
  const auto n = static_cast<std::size_t>(size());
  const int root = size() - 1, me = rank();
  std::vector<int> mine(100, me), all(100 * n), gathered(me == root ? 100 * n : 0), spread(100 * n), block(100),
      received(100 * n), reduced(me == root ? 100 : 0), part(100), cast(100, me == root ? 5 : 0);
  for (std::size_t i = 0; i < spread.size(); ++i) spread[i] = me * 1000 + static_cast<int>(i / 100);
  std::vector<Request> requests;
  requests.push_back(world().ibarrier());
  requests.push_back(world().ibroadcast(cast, root));
  requests.push_back(world().iallgather(mine, all));
  requests.push_back(world().igather(mine, gathered, root));
  requests.push_back(world().iscatter(spread, block, root));
  requests.push_back(world().ialltoall(spread, received));
  requests.push_back(world().ireduce(mine, reduced, godwit::max, root));
  requests.push_back(world().ireduce_scatter(spread, part, godwit::sum));
  godwit::wait_all(requests);
  EXPECT_EQ(cast, std::vector<int>(100, 5));
  EXPECT_EQ(block, std::vector<int>(100, root * 1000 + me));
  EXPECT_EQ(part, std::vector<int>(100, 1000 * size() * (size() - 1) / 2 + me * size()));
  if (me == root) {
    EXPECT_EQ(reduced, std::vector<int>(100, root));
    EXPECT_EQ(gathered, all);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(all[i], static_cast<int>(i / 100));
    ASSERT_EQ(received[i], static_cast<int>(i / 100) * 1000 + me);
  }
}

TEST(Nonblocking, AbandonedRequestStillTakesPart) {
  int value = rank();
  { Request forgotten = world().iallreduce(value, godwit::max); }  // its destructor waits
  EXPECT_EQ(value, size() - 1);
}

}  // namespace
}  // namespace suite
