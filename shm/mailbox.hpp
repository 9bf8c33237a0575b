// What the service thread has for the worker. The worker looks at one flag when there is nothing.
#pragma once

#include "core/shared_memory.hpp"
#include "shm/bell.hpp"
#include "shm/cma.hpp"

#include <godwit/error.hpp>
#include <godwit/types.hpp>

#include <atomic>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace godwit::shm {

/// The pair is connected.
struct LinkReady {
  Rank peer = 0;
  std::string host;
  std::uint32_t pid = 0;
  core::SharedMemory memory;
  bool connected_by_us = false;
  std::size_t ring_bytes = 0;
  std::size_t max_message = 0;
  PeerBell bell;
  Cma cma;
};
/// Nothing more comes, after what is in the ring.
struct PeerLost {
  Rank peer = 0;
  ErrorCode status = ErrorCode::ok;
  std::string detail;
};
/// A segment of the peer that we have asked for; no memory: `error` says why.
struct SegmentMapped {
  Rank peer = 0;
  std::uint64_t id = 0;
  core::SharedMemory memory;
  std::string error;
};
/// The peer has given the segment back.
struct SegmentGone {
  Rank peer = 0;
  std::uint64_t id = 0;
};
using Event = std::variant<LinkReady, PeerLost, SegmentMapped, SegmentGone>;

class Mailbox {
 public:
  explicit Mailbox(Bell& bell) noexcept : bell_(bell) {}

  /// Any thread; wakes the worker.
  void push(Event event) {
    {
      const std::lock_guard lock(mutex_);
      events_.push_back(std::move(event));
      pending_.store(true, std::memory_order_release);
    }
    bell_.wake();
  }
  bool pending() const noexcept { return pending_.load(std::memory_order_acquire); }
  std::vector<Event> take() noexcept {
    const std::lock_guard lock(mutex_);
    pending_.store(false, std::memory_order_relaxed);
    return std::exchange(events_, {});
  }

 private:
  Bell& bell_;
  std::mutex mutex_;
  std::vector<Event> events_;  // guarded by mutex_
  std::atomic<bool> pending_{false};
};

}  // namespace godwit::shm
