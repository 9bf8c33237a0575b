// Probes, matched probes and message order.
#include "harness.hpp"

#include <random>

namespace suite {
namespace {

using godwit::any_source;
using godwit::any_tag;
using godwit::MessageInfo;
using godwit::Request;

class ProbeSizes : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Bytes, ProbeSizes, testing::Values(0, 8, 5000, 1 << 20));

TEST_P(ProbeSizes, ProbeDescribesAndLeavesTheMessage) {
  const std::size_t bytes = GetParam();
  EXPECT_FALSE(world().iprobe().has_value());
  world().barrier();
  Outgoing send(world(), bytes, 1, right(), 31);
  for (int i = 0; i < 2; ++i) {
    const MessageInfo info = world().probe();
    EXPECT_EQ(info.source, left());
    EXPECT_EQ(info.tag, 31);
    EXPECT_EQ(info.size, bytes);
  }
  EXPECT_FALSE(world().iprobe(any_source, 32).has_value());
  EXPECT_TRUE(world().iprobe(left(), 31).has_value());
  std::vector<std::byte> in(bytes);
  world().recv(in);
  EXPECT_EQ(first_wrong(in, 1), std::nullopt);
  EXPECT_FALSE(world().iprobe(left(), 31).has_value());
  world().barrier();
}

TEST_P(ProbeSizes, MatchedMessageIsOutOfReachOfOthers) {
  const std::size_t bytes = GetParam();
  Outgoing first(world(), bytes, 1, right(), 33);
  Outgoing second(world(), bytes, 2, right(), 33);
  godwit::MatchedMessage matched = world().mprobe(left(), 33);
  EXPECT_EQ(matched.info().size, bytes);
  std::vector<std::byte> in(bytes);
  world().recv(in, any_source, 33);
  EXPECT_EQ(first_wrong(in, 2), std::nullopt);
  const MessageInfo info = matched.recv(in);
  EXPECT_EQ(info.source, left());
  EXPECT_EQ(info.tag, 33);
  EXPECT_EQ(first_wrong(in, 1), std::nullopt);
  first.wait();
  second.wait();
}

TEST_P(ProbeSizes, DroppedMatchedMessageIsDiscarded) {
  const std::size_t bytes = GetParam();
  Outgoing dropped(world(), bytes, 1, right(), 34);
  Outgoing kept(world(), bytes, 2, right(), 34);
  { godwit::MatchedMessage matched = world().mprobe(left(), 34); }
  std::vector<std::byte> in(bytes);
  world().recv(in, left(), 34);
  EXPECT_EQ(first_wrong(in, 2), std::nullopt);
  EXPECT_FALSE(world().improbe(left(), 34).has_value());
  EXPECT_TRUE(dropped.try_wait().ok());  // a discarded message has been sent all the same
  kept.wait();
}

TEST_P(ProbeSizes, MatchedMessageIntoAShortBufferIsTruncated) {
  const std::size_t bytes = GetParam();
  if (bytes < 8) GTEST_SKIP() << "nothing to cut";
  Outgoing send(world(), bytes, 1, right(), 35);
  Guarded in(bytes / 2);
  godwit::MatchedMessage matched = world().mprobe(left(), 35);
  Request receive = matched.irecv_bytes(in.data().data(), in.data().size());
  EXPECT_EQ(receive.try_wait().code(), godwit::ErrorCode::truncated);
  EXPECT_EQ(first_wrong(in.data(), 1), std::nullopt);
  EXPECT_TRUE(in.intact());
  send.wait();
  expect_usable(world());
}

// Sends `count` messages of mixed sizes, each numbered by its seed, with one tag; they must arrive in order.
void check_order(bool receives_first, int count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::size_t> sizes;
  for (int i = 0; i < count; ++i) {
    const std::size_t limit = std::size_t{1} << (random() % 18);
    sizes.push_back(random() % (limit + 1));
  }
  std::vector<std::vector<std::byte>> in;
  std::vector<Request> receives;
  std::vector<Outgoing> sends;
  const auto post_receives = [&] {
    for (int i = 0; i < count; ++i) {
      in.emplace_back(std::size_t{1} << 18);
      const bool wild = i % 3 == 0;
      receives.push_back(world().irecv(in.back(), wild ? any_source : left(), i % 2 == 0 ? any_tag : 3));
    }
  };
  if (receives_first) {
    post_receives();
    world().barrier();
  }
  for (int i = 0; i < count; ++i)
    sends.emplace_back(world(), sizes[static_cast<std::size_t>(i)], static_cast<std::uint64_t>(i), right(), 3);
  if (!receives_first) {
    (void)world().probe(left(), 3);
    post_receives();
  }
  for (std::size_t i = 0; i < receives.size(); ++i) {
    const MessageInfo info = receives[i].wait();
    ASSERT_EQ(info.size, sizes[i]) << "message " << i;
    ASSERT_EQ(first_wrong(std::span(in[i]).first(info.size), i), std::nullopt) << "message " << i;
  }
  for (Outgoing& send : sends) send.wait();
}

TEST(Order, MixedSizesDoNotOvertakeIntoPostedReceives) { check_order(true, 100, 1); }
TEST(Order, MixedSizesDoNotOvertakeAmongUnexpectedMessages) { check_order(false, 100, 2); }

TEST(Order, SmallMessageBehindALargeOneWaits) {
  Outgoing large(world(), 4 << 20, 1, right(), 4);
  Outgoing small(world(), 4, 2, right(), 4);
  std::vector<std::byte> in(4 << 20);
  EXPECT_EQ(world().recv(in, any_source, any_tag).size, in.size());
  EXPECT_EQ(first_wrong(in, 1), std::nullopt);
  EXPECT_EQ(world().recv(in, any_source, any_tag).size, 4U);
  large.wait();
  small.wait();
}

}  // namespace
}  // namespace suite
