// Tagged messages: matching, sizes, truncation, cancel, waiting.
#include "harness.hpp"

#include <array>
#include <set>

namespace suite {
namespace {

using godwit::any_source;
using godwit::any_tag;
using godwit::ErrorCode;
using godwit::MessageInfo;
using godwit::Request;

class TaggedSizes : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Bytes, TaggedSizes, testing::Values(0, 1, 100, 4096, 65536, 1 << 20, 16 << 20));

TEST_P(TaggedSizes, WildcardTakesTheFirstArrivedExactTagTheOther) {
  const std::size_t bytes = GetParam();
  Outgoing first(world(), bytes, 11, right(), 11);
  Outgoing second(world(), bytes, 22, right(), 22);
  (void)world().probe(left(), 22);  // both are there
  std::vector<std::byte> in(bytes);
  MessageInfo info = world().recv(in);
  EXPECT_EQ(info.source, left());
  EXPECT_EQ(info.tag, 11);
  EXPECT_EQ(info.size, bytes);
  EXPECT_EQ(first_wrong(in, 11), std::nullopt);
  info = world().recv(in, left(), 22);
  EXPECT_EQ(info.tag, 22);
  EXPECT_EQ(first_wrong(in, 22), std::nullopt);
  first.wait();
  second.wait();
}

TEST_P(TaggedSizes, ExactTagLeavesTheFirstForTheWildcard) {
  const std::size_t bytes = GetParam();
  Outgoing first(world(), bytes, 11, right(), 11);
  Outgoing second(world(), bytes, 22, right(), 22);
  std::vector<std::byte> in(bytes);
  EXPECT_EQ(world().recv(in, any_source, 22).tag, 22);
  EXPECT_EQ(first_wrong(in, 22), std::nullopt);
  EXPECT_EQ(world().recv(in, left(), any_tag).tag, 11);
  EXPECT_EQ(first_wrong(in, 11), std::nullopt);
  first.wait();
  second.wait();
}

TEST_P(TaggedSizes, AnySourceNamesTheTrueSource) {
  const std::size_t bytes = GetParam();
  if (rank() != 0) {
    world().send(pattern(bytes, 100 + rank()), 0, 1000 + rank());
    world().barrier();
    return;
  }
  std::set<int> sources;
  for (int i = 1; i < size(); ++i) {
    std::vector<std::byte> in(bytes);
    const MessageInfo info = world().recv(in);
    EXPECT_TRUE(sources.insert(info.source).second) << "two messages from " << info.source;
    EXPECT_EQ(info.tag, 1000 + info.source);
    EXPECT_EQ(info.size, bytes);
    EXPECT_EQ(first_wrong(in, 100 + info.source), std::nullopt);
  }
  world().barrier();
}

TEST_P(TaggedSizes, TooShortBufferIsTruncatedAndThePairGoesOn) {
  const std::size_t bytes = GetParam();
  if (bytes <= 50) GTEST_SKIP() << "fits";
  for (const bool early : {false, true}) {
    Guarded buffer(50);
    Request receive = early ? world().irecv(buffer.data(), left(), 5) : Request();
    if (early) world().barrier();
    Outgoing send(world(), bytes, 5, right(), 5);
    if (!early) {
      (void)world().probe(left(), 5);
      receive = world().irecv(buffer.data(), left(), 5);
    }
    const godwit::Status status = receive.try_wait();
    EXPECT_EQ(status.code(), ErrorCode::truncated) << status.message();
    EXPECT_EQ(receive.info().size, bytes);
    EXPECT_EQ(first_wrong(buffer.data(), 5), std::nullopt);
    EXPECT_TRUE(buffer.intact());
    EXPECT_TRUE(send.try_wait().ok());
    expect_usable(world(), bytes);
  }
}

TEST_P(TaggedSizes, SharedAndPrivateMemoryMix) {
  const std::size_t bytes = GetParam();
  godwit::shared_vector<std::byte> shared_out(bytes), shared_in(bytes);
  std::vector<std::byte> out = pattern(bytes, 3), in(bytes);
  fill(shared_out, 3);
  const auto exchange = [&](const auto& from, auto& to) {
    std::fill(to.begin(), to.end(), std::byte{0});
    Request receive = world().irecv(to, left(), 3);
    Request send = world().isend(from, right(), 3);
    godwit::wait_all(receive, send);
    EXPECT_EQ(first_wrong(to, 3), std::nullopt);
  };
  exchange(out, in);
  exchange(out, shared_in);
  exchange(shared_out, in);
  exchange(shared_out, shared_in);
}

TEST_P(TaggedSizes, SynchronousSendCompletesOnlyWhenMatched) {
  const std::size_t bytes = GetParam();
  std::vector<std::byte> out = pattern(bytes, 9), in(bytes);
  Request send = world().issend_bytes(out.data(), bytes, right(), 9);
  (void)world().probe(left(), 9);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(send.poll());
  world().barrier();  // nobody has received yet
  world().recv(in, left(), 9);
  send.wait();
  EXPECT_EQ(first_wrong(in, 9), std::nullopt);
}

TEST(Tagged, ZeroBytesWithoutABufferMatchAndKeepTheirPlace) {
  Request empty = world().isend_bytes(nullptr, 0, right(), 1);
  Outgoing full(world(), 10, 1, right(), 1);
  std::array<std::byte, 10> in{};
  EXPECT_EQ(world().recv_bytes(nullptr, 0, left(), 1).size, 0U);
  EXPECT_EQ(world().recv(in, left(), 1).size, 10U);
  EXPECT_EQ(first_wrong(in, 1), std::nullopt);
  empty.wait();
  full.wait();
}

TEST(Tagged, EverySizeAroundTheThresholds) {
  for (const std::size_t bytes : interesting_sizes(4 << 20)) {
    Guarded in(bytes, bytes % 7);
    Request receive = world().irecv(in.data(), left(), 2);
    Outgoing send(world(), bytes, bytes, right(), 2);
    EXPECT_EQ(receive.wait().size, bytes);
    send.wait();
    ASSERT_EQ(first_wrong(in.data(), bytes), std::nullopt) << bytes << " bytes";
    ASSERT_TRUE(in.intact()) << bytes << " bytes";
  }
}

TEST(Tagged, AllSixtyThreeBitsOfATagCount) {
  const std::array<godwit::Tag, 5> tags{0, 1, godwit::Tag{1} << 32, (godwit::Tag{1} << 40) + 1, godwit::max_tag};
  std::vector<Request> sends;
  for (const godwit::Tag& tag : tags) sends.push_back(world().isend(tag, right(), tag));
  for (auto tag = tags.rbegin(); tag != tags.rend(); ++tag) {
    godwit::Tag in = -1;
    EXPECT_EQ(world().recv(in, left(), *tag).tag, *tag);
    EXPECT_EQ(in, *tag);
  }
  godwit::wait_all(sends);
}

TEST(Tagged, CancelTakesBackAPendingReceive) {
  int in = 0;
  Request receive = world().irecv(in, left(), 6);
  EXPECT_TRUE(receive.cancel());
  EXPECT_TRUE(receive.done());
  { Request forgotten = world().irecv(in, left(), 6); }  // its destructor cancels
  world().barrier();
  const int out = 42;
  Request send = world().isend(out, right(), 6);
  int other = 0;
  world().recv(other, left(), 6);
  send.wait();
  EXPECT_EQ(other, 42);
  EXPECT_EQ(in, 0);
}

TEST(Tagged, CancelAfterTheMatchIsRefused) {
  const int out = 43;
  int in = 0;
  Request receive = world().irecv(in, left(), 6);
  Request send = world().isend(out, right(), 6);
  while (!receive.poll()) {
  }
  EXPECT_FALSE(receive.cancel());
  EXPECT_TRUE(receive.try_wait().ok());
  EXPECT_EQ(in, 43);
  send.wait();
}

TEST(Tagged, WaitAnyAndSomeFindWhatIsDone) {
  std::array<int, 3> in{};
  std::vector<Request> receives;
  for (int tag = 0; tag < 3; ++tag) receives.push_back(world().irecv(in[static_cast<std::size_t>(tag)], left(), tag));
  world().barrier();
  const std::array<int, 3> out{70, 71, 72};
  Request send = world().isend(out[1], right(), 1);
  EXPECT_EQ(godwit::wait_any(receives), 1U);
  EXPECT_EQ(in[1], 71);
  send.wait();
  world().barrier();  // everybody has seen that only one is done
  Request second = world().isend(out[0], right(), 0), third = world().isend(out[2], right(), 2);
  std::set<std::size_t> done;
  while (done.size() < 2)
    for (const std::size_t index : godwit::wait_some(receives)) done.insert(index);
  EXPECT_EQ(done, (std::set<std::size_t>{0, 2}));
  EXPECT_EQ(godwit::wait_any(receives), receives.size());
  godwit::wait_all(second, third);
}

}  // namespace
}  // namespace suite
