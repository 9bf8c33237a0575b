// Frames on a pair of sockets, and the end of the connection.
#include "shm/frame.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace godwit::shm {
namespace {

struct Frames : ::testing::Test {
  Frames() {
    std::array<int, 2> pair{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()), 0);
    here = core::UniqueFd(pair[0]);
    there = core::UniqueFd(pair[1]);
  }
  FrameIo send(const core::UniqueFd& from, FrameType type, std::span<const core::UniqueFd> attached = {}) {
    Frame frame;
    frame.type = type;
    return send_frame(from.get(), frame, attached, error);
  }
  FrameIo receive() { return receive_frame(here.get(), received, files, error); }

  core::UniqueFd here, there;
  Frame received;
  std::vector<core::UniqueFd> files;
  int error = 0;
};

TEST_F(Frames, ComeInOrderWithTheirFiles) {
  std::vector<core::UniqueFd> attached;
  for (int i = 0; i < 2; ++i) attached.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(receive(), FrameIo::again);
  ASSERT_EQ(send(there, FrameType::hello), FrameIo::done);
  ASSERT_EQ(send(there, FrameType::welcome, attached), FrameIo::done);
  ASSERT_EQ(receive(), FrameIo::done);
  EXPECT_EQ(received.type, FrameType::hello);
  EXPECT_TRUE(files.empty());
  ASSERT_EQ(receive(), FrameIo::done);
  EXPECT_EQ(received.type, FrameType::welcome);
  EXPECT_EQ(files.size(), 2U);
}

TEST_F(Frames, WhatWasSentBeforeTheEndComesBeforeIt) {
  ASSERT_EQ(send(there, FrameType::good_bye), FrameIo::done);
  there.reset();
  ASSERT_EQ(receive(), FrameIo::done);
  EXPECT_EQ(received.type, FrameType::good_bye);
  EXPECT_EQ(receive(), FrameIo::closed);
}

// The peer has gone without reading all: the kernel reports that first.
TEST_F(Frames, WhatWasSentBeforeAResetComesToo) {
  ASSERT_EQ(send(here, FrameType::segment_gone), FrameIo::done);
  ASSERT_EQ(send(there, FrameType::segment_reply), FrameIo::done);
  ASSERT_EQ(send(there, FrameType::good_bye), FrameIo::done);
  there.reset();
  ASSERT_EQ(receive(), FrameIo::done);
  EXPECT_EQ(received.type, FrameType::segment_reply);
  ASSERT_EQ(receive(), FrameIo::done);
  EXPECT_EQ(received.type, FrameType::good_bye);
  EXPECT_EQ(receive(), FrameIo::closed);
  EXPECT_EQ(receive(), FrameIo::closed);
}

TEST_F(Frames, OtherBytesAreAFailure) {
  ASSERT_EQ(::send(there.get(), "x", 1, MSG_NOSIGNAL), 1);
  EXPECT_EQ(receive(), FrameIo::failed);
  EXPECT_EQ(error, EPROTO);
}

}  // namespace
}  // namespace godwit::shm
