// Gets that two sides copy together: both sides are in this process, which reaches its own memory like a peer's.
#include "shm/joint_copy.hpp"

#include "shm/key.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace godwit::shm {
namespace {

using Bytes = std::vector<std::byte>;

Bytes pattern(std::size_t bytes, unsigned seed) {
  Bytes data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>((i * 31 + i / 4096 + seed) & 0xffU);
  return data;
}

class JointCopyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Cma cma = Cma::probe(::getpid(), reinterpret_cast<std::uint64_t>(nonce_.data()), nonce_);
    if (!cma.works()) GTEST_SKIP() << cma.reason();
    cma_ = cma;
    remote_.set_cma(cma);
    owner_.open(boards_[0], boards_[1]);
    peer_.open(boards_[1], boards_[0]);
  }

  core::WorkRequest get(Bytes& to, const Bytes& from, std::uint64_t cookie) {
    core::WorkRequest request;
    request.op = core::Op::get;
    request.local = to;
    request.remote = {reinterpret_cast<std::uint64_t>(from.data()), private_handle};
    request.cookie = cookie;
    return request;
  }
  void step() {
    owner_.step(remote_, [&](std::uint64_t cookie, const Status& outcome) { done_.emplace_back(cookie, outcome); });
  }
  void finish() {
    for (int i = 0; owner_.busy() && i < 100000; ++i) step();
    ASSERT_FALSE(owner_.busy());
  }

  Nonce nonce_{std::byte{1}, std::byte{2}};
  JointBoard boards_[2];
  JointCopy owner_, peer_;
  RemoteMemory remote_;
  Cma cma_;
  std::vector<std::pair<std::uint64_t, Status>> done_;
};

TEST_F(JointCopyTest, TakesLargeGetsOnly) {
  const Bytes from(JointCopy::smallest);
  Bytes to(JointCopy::smallest);
  core::WorkRequest request = get(to, from, 1);
  EXPECT_TRUE(owner_.takes(request));
  request.local = request.local.first(JointCopy::smallest - 1);
  EXPECT_FALSE(owner_.takes(request));
  request = get(to, from, 1);
  request.op = core::Op::put;
  EXPECT_FALSE(owner_.takes(request));
  EXPECT_FALSE(JointCopy().takes(get(to, from, 1))) << "not connected";
}

TEST_F(JointCopyTest, TheOwnerDoesItAllWhenThePeerIsAway) {
  const Bytes from = pattern(1000001, 1);
  Bytes to(from.size());
  owner_.start(get(to, from, 7));
  finish();
  ASSERT_EQ(done_.size(), 1U);
  EXPECT_EQ(done_[0].first, 7U);
  EXPECT_TRUE(done_[0].second.ok()) << done_[0].second.message();
  EXPECT_EQ(to, from);
  peer_.help(cma_);  // late: nothing is left
  EXPECT_FALSE(peer_.wanted());
}

TEST_F(JointCopyTest, ThePeerCopiesItsShare) {
  const Bytes from = pattern(JointCopy::smallest, 2);  // two chunks
  Bytes to(from.size());
  EXPECT_FALSE(peer_.wanted());
  owner_.start(get(to, from, 1));
  ASSERT_TRUE(peer_.wanted());
  peer_.help(cma_);
  const auto half = static_cast<std::ptrdiff_t>(to.size() / 2);
  EXPECT_TRUE(std::equal(to.begin() + half, to.end(), from.begin() + half)) << "it begins at the end";
  EXPECT_EQ(to[2], std::byte{0}) << "the other half is the owner's";
  step();
  ASSERT_EQ(done_.size(), 1U);
  EXPECT_EQ(to, from);
}

TEST_F(JointCopyTest, SeveralAtOnceEndInOrder) {
  std::vector<Bytes> from, to;
  for (unsigned i = 0; i < joint_offers; ++i) from.push_back(pattern(100000 + i, i));
  for (const Bytes& data : from) to.emplace_back(data.size());
  for (unsigned i = 0; i < joint_offers; ++i) {
    ASSERT_TRUE(owner_.has_room());
    owner_.start(get(to[i], from[i], i));
  }
  EXPECT_FALSE(owner_.has_room());
  peer_.help(cma_);
  peer_.help(cma_);  // the second of its first transfer
  peer_.help(cma_);  // the first of the next
  finish();
  ASSERT_EQ(done_.size(), joint_offers);
  for (unsigned i = 0; i < joint_offers; ++i) EXPECT_EQ(done_[i].first, i);
  EXPECT_EQ(to, from);
}

TEST_F(JointCopyTest, ANumberThatIsOverIsNotClaimed) {
  // The peer looks at an entry of the board that has been used again.
  const Bytes from = pattern(JointCopy::smallest, 3);
  Bytes to(from.size());
  for (std::size_t i = 0; i < 3 * joint_offers; ++i) {
    owner_.start(get(to, from, i));
    finish();
  }
  Bytes last(from.size());
  owner_.start(get(last, from, 99));
  peer_.help(cma_);  // skips all that are over
  step();
  EXPECT_EQ(done_.size(), 3 * joint_offers + 1);
  EXPECT_EQ(last, from);
  EXPECT_FALSE(owner_.busy());
}

TEST_F(JointCopyTest, APeerThatCannotWriteIsNotAskedAgain) {
  const Bytes from = pattern(JointCopy::smallest, 4);
  Bytes to(from.size());
  owner_.start(get(to, from, 1));
  boards_[0].offers[1].peer_address = 16;  // nothing is there: the peer's copy fails
  peer_.help(cma_);
  finish();
  ASSERT_EQ(done_.size(), 1U);
  EXPECT_TRUE(done_[0].second.ok());
  EXPECT_EQ(to, from) << "the owner has copied all of it again";
  EXPECT_FALSE(owner_.takes(get(to, from, 2)));
}

TEST_F(JointCopyTest, AFailureSaysWhyAndStopsThePeer) {
  Bytes to(4 * JointCopy::smallest);
  core::WorkRequest request = get(to, to, 5);
  request.remote.address = 16;
  owner_.start(request);
  step();
  ASSERT_EQ(done_.size(), 1U);
  EXPECT_EQ(done_[0].second.code(), ErrorCode::transport);
  EXPECT_NE(done_[0].second.message().find("not mapped"), std::string::npos) << done_[0].second.message();
  peer_.help(cma_);
  EXPECT_FALSE(peer_.wanted());
  EXPECT_FALSE(owner_.busy());
}

TEST_F(JointCopyTest, AfterALossNobodyWrites) {
  const Bytes from = pattern(8 * JointCopy::smallest, 6);
  Bytes to(from.size());
  owner_.start(get(to, from, 1));
  peer_.help(cma_);
  owner_.fail({ErrorCode::peer_failed, "it is gone"},
              [&](std::uint64_t cookie, const Status& outcome) { done_.emplace_back(cookie, outcome); });
  ASSERT_EQ(done_.size(), 1U);
  EXPECT_EQ(done_[0].second.code(), ErrorCode::peer_failed);
  std::fill(to.begin(), to.end(), std::byte{0});
  peer_.help(cma_);
  EXPECT_TRUE(std::all_of(to.begin(), to.end(), [](std::byte b) { return b == std::byte{0}; }));
}

TEST_F(JointCopyTest, BothAtTheSameTime) {
  std::atomic<bool> stop = false;
  std::thread helper([&] {
    while (!stop) {
      if (peer_.wanted())
        peer_.help(cma_);
      else
        std::this_thread::yield();
    }
  });
  std::mt19937 random(7);
  std::uniform_int_distribution<std::size_t> sizes(JointCopy::smallest, 20 * JointCopy::smallest);
  for (unsigned i = 0; i < 300; ++i) {
    const Bytes from = pattern(sizes(random), i);
    Bytes to(from.size());
    owner_.start(get(to, from, i));
    while (owner_.busy()) {
      step();
      std::this_thread::yield();
    }
    ASSERT_TRUE(done_.back().second.ok());
    ASSERT_EQ(to, from) << "transfer " << i;
  }
  stop = true;
  helper.join();
}

}  // namespace
}  // namespace godwit::shm
