// Communicators: copies, splits, lists of ranks; messages stay within theirs.
#include "harness.hpp"

#include <numeric>

namespace suite {
namespace {

using godwit::Communicator;
using godwit::Request;

TEST(Groups, MessagesDoNotCrossCommunicators) {
  Communicator copy = world().dup();
  EXPECT_EQ(copy.rank(), rank());
  EXPECT_EQ(copy.size(), size());
  Outgoing on_world(world(), 64, 1, right(), 8);
  Outgoing on_copy(copy, 64, 2, right(), 8);
  std::vector<std::byte> in(64);
  copy.recv(in);
  EXPECT_EQ(first_wrong(in, 2), std::nullopt);
  world().recv(in);
  EXPECT_EQ(first_wrong(in, 1), std::nullopt);
  on_world.wait();
  on_copy.wait();
}

TEST(Groups, PendingReceiveOfOneIgnoresTheOther) {
  Communicator copy = world().dup();
  std::vector<std::byte> in(64), other(64);
  Request receive = copy.irecv(other);
  Outgoing on_world(world(), 64, 1, right(), 8);
  world().recv(in);
  EXPECT_EQ(first_wrong(in, 1), std::nullopt);
  EXPECT_FALSE(receive.poll());
  world().barrier();  // everybody has looked
  Outgoing on_copy(copy, 64, 2, right(), 9);
  EXPECT_EQ(receive.wait().tag, 9);
  EXPECT_EQ(first_wrong(other, 2), std::nullopt);
}

TEST(Groups, SplitRanksByKeyThenRank) {
  Communicator half = world().split(rank() % 2, -rank());
  const int members = (size() + 1 - rank() % 2) / 2;
  ASSERT_EQ(half.size(), members);
  EXPECT_EQ(half.rank(), members - 1 - rank() / 2);
  std::vector<int> all(static_cast<std::size_t>(members));
  half.allgather(rank(), all);
  for (int i = 0; i < members; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], 2 * (members - 1 - i) + rank() % 2);
  expect_usable(half);
  expect_usable(world());
}

TEST(Groups, NegativeColourIsLeftOut) {
  Communicator some = world().split(rank() == 0 ? -1 : 3);
  EXPECT_EQ(static_cast<bool>(some), rank() != 0);
  if (some) {
    EXPECT_EQ(some.size(), size() - 1);
    EXPECT_EQ(some.rank(), rank() - 1);
    expect_usable(some);
  }
}

TEST(Groups, FromRanksKeepsTheOrderOfTheList) {
  std::vector<godwit::Rank> list;
  for (int member = size() - 1; member >= 0; member -= 2) list.push_back(member);
  const bool member = (size() - 1 - rank()) % 2 == 0;
  if (member) {
    Communicator some = world().from_ranks(list);
    ASSERT_EQ(some.size(), static_cast<int>(list.size()));
    EXPECT_EQ(some.rank(), (size() - 1 - rank()) / 2);
    std::vector<int> all(list.size());
    some.allgather(rank(), all);
    EXPECT_EQ(all, std::vector<int>(list.begin(), list.end()));
    expect_usable(some);
    Communicator nested = some.dup().split(0, some.rank());
    EXPECT_EQ(nested.rank(), some.rank());
    expect_usable(nested);
  }
  expect_usable(world());
}

TEST(Groups, SourceIsARankOfTheCommunicator) {
  Communicator reversed = world().split(0, -rank());
  const int to = (reversed.rank() + 1) % size(), from = (reversed.rank() + size() - 1) % size();
  Outgoing send(reversed, 16, 1, to, 1);
  std::vector<std::byte> in(16);
  EXPECT_EQ(reversed.recv(in).source, from);
}

TEST(Groups, ManyComeAndGo) {
  for (int round = 0; round < 40; ++round) {
    Communicator copy = world().dup(), part = copy.split(rank() % 3);
    int value = part.rank();
    part.allreduce(value, godwit::max);
    ASSERT_EQ(value, part.size() - 1);
    if (round % 10 == 0) expect_usable(copy);
  }
}

}  // namespace
}  // namespace suite
