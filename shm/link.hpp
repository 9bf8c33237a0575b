// The worker's side of one peer, from the first connect to the loss of the peer. What poll and post touch comes
// first. Threads: the worker's.
#pragma once

#include "core/transport.hpp"
#include "shm/control.hpp"
#include "shm/joint_copy.hpp"
#include "shm/remote_memory.hpp"
#include "shm/ring.hpp"

#include <string>

namespace godwit::shm {

struct Link {
  enum class State : std::uint8_t {
    connecting,
    open,
    draining,  // the peer is gone; what it has sent before is still in the ring
    lost,      // nothing more comes, posts fail
  };

  explicit Link(PeerName name) : peer(std::move(name)) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// connecting -> open.
  void open(LinkReady ready);
  /// -> lost.
  void lose(const Status& why) {
    state = State::lost;
    lost_status = why.code();
    lost_detail = why.message();
  }

  RingReader in;
  Rank rank() const noexcept { return peer.rank; }
  bool hot = false;            // LinkPoller's
  bool given = false;          // LinkPoller's: entries have been given out since the last release
  std::uint64_t last_hit = 0;  // LinkPoller's: number of the poll that last found something
  JointCopy joint;
  RingWriter out;
  PeerBell bell;
  State state = State::connecting;
  ErrorCode lost_status = ErrorCode::ok;
  int endpoints = 0;
  core::Capabilities capabilities;
  RemoteMemory remote;
  PeerName peer;
  std::string lost_detail;
  std::size_t ring_bytes = 0;
  core::SharedMemory memory;
};

}  // namespace godwit::shm
