// Many peers: a cold one is found soon, hot ones do not starve it.
#include "shm/link_poller.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace godwit::shm {
namespace {

// The reading side of a link over plain memory, with the writer of its peer.
struct Pair {
  explicit Pair(Rank rank) : link(PeerName{rank, "host", 1}) {
    const RingPlace place{reinterpret_cast<std::byte*>(lines.get()), ring_bytes, &cursor.consumed};
    writer = RingWriter(place);
    link.in = RingReader(place);
  }
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  static constexpr std::size_t ring_bytes = 4096;
  std::unique_ptr<Line[]> lines{new Line[ring_bytes / 64]()};
  ReadCursor cursor;
  RingWriter writer;
  Link link;
};

class LinkPollerTest : public ::testing::Test {
 protected:
  static constexpr Rank count = 64;
  LinkPollerTest() {
    for (Rank r = 0; r < count; ++r) poller.add(pairs.emplace_back(std::make_unique<Pair>(r))->link);
  }
  ~LinkPollerTest() override {
    for (auto& pair : pairs) poller.remove(pair->link);
  }
  std::size_t poll(std::size_t most) {
    poller.release();
    const std::size_t n = poller.poll(std::span(completions).first(most));
    for (std::size_t i = 0; i < n; ++i) ++seen[static_cast<std::size_t>(completions[i].peer)];
    return n;
  }
  LinkPoller poller;
  std::vector<std::unique_ptr<Pair>> pairs;
  std::array<core::Completion, 32> completions;
  std::array<std::size_t, count> seen{};
};

TEST_F(LinkPollerTest, AnyColdLinkIsFoundWithinOneRotation) {
  for (int i = 0; i < 10000; ++i) ASSERT_EQ(poll(32), 0U);  // all have cooled down
  for (Rank r = 0; r < count; ++r) {
    EXPECT_FALSE(poller.ready());
    ASSERT_TRUE(pairs[static_cast<std::size_t>(r)]->writer.send({}, {}));
    EXPECT_TRUE(poller.ready());
    int polls = 1;
    while (poll(32) == 0) ASSERT_LT(++polls, count);
    EXPECT_EQ(completions[0].peer, r);
  }
}

// With room for one completion per poll, and everybody sending all the time.
TEST_F(LinkPollerTest, NobodyStarves) {
  for (int i = 0; i < 64 * 200; ++i) {
    for (auto& pair : pairs) pair->writer.send({}, {});
    ASSERT_EQ(poll(1), 1U);
  }
  for (Rank r = 0; r < count; ++r) EXPECT_GT(seen[static_cast<std::size_t>(r)], 20U) << r;
}

TEST_F(LinkPollerTest, HotLinksLeaveRoomForColdOnes) {
  for (int i = 0; i < 10000; ++i) poll(32);
  for (int i = 0; i < 1000; ++i) {
    for (std::size_t hot = 0; hot < 3; ++hot)
      while (pairs[hot]->writer.send({}, {})) {
      }
    poll(8);
  }
  ASSERT_TRUE(pairs[40]->writer.send({}, {}));
  int polls = 0;
  while (seen[40] == 0) {
    for (std::size_t hot = 0; hot < 3; ++hot)
      while (pairs[hot]->writer.send({}, {})) {
      }
    poll(8);
    ASSERT_LT(++polls, 2 * count);
  }
}

}  // namespace
}  // namespace godwit::shm
