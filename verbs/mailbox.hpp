// What the service thread has for the worker. The worker looks at one flag when there is nothing.
#pragma once

#include "core/unique_fd.hpp"
#include "verbs/link.hpp"

#include <godwit/error.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace godwit::verbs {

/// Messages of the peer may come.
struct LinkMade {
  PeerName peer;
  std::unique_ptr<Connection> connection;
};
/// The peer can receive. On iWARP who was connected to learns that from the first frame instead.
struct LinkReady {
  Rank peer = 0;
  bool speak_first = false;  // the peer waits for a frame
};
/// Nothing more comes, after `sent` frames if that is known.
struct PeerLost {
  Rank peer = 0;
  ErrorCode status = ErrorCode::ok;
  std::string detail;
  std::uint64_t sent = 0;
};
/// The queue pair failed there, or the adapter says so here: round `round` of replacing it begins.
struct PairFailed {
  Rank peer = 0;
  std::uint32_t round = 0;
  std::string why;
  bool avoid = false;  // its route, if there is another one
};
/// A fresh queue pair that is connected. The peer knows of `known_here` frames that they have come here.
struct PairMade {
  Rank peer = 0;
  std::uint32_t round = 0;
  std::unique_ptr<QueuePair> pair;
  std::size_t route = 0;
  std::uint64_t known_here = 0;
};
/// The peer counts with the fresh queue pair, and had got that many frames before.
struct PairReady {
  Rank peer = 0;
  std::uint32_t round = 0;
  std::uint64_t received = 0;
};
using Event = std::variant<LinkMade, LinkReady, PeerLost, PairFailed, PairMade, PairReady>;

class Mailbox {
 public:
  /// Throws Error(no_memory).
  Mailbox();

  /// Any thread; wakes the worker.
  void push(Event event);
  bool pending() const noexcept { return pending_.load(std::memory_order_acquire); }
  std::vector<Event> take() noexcept;
  /// Readable while something has been pushed and not been taken.
  int event_fd() const noexcept { return event_.get(); }

 private:
  core::UniqueFd event_;
  std::mutex mutex_;
  std::vector<Event> events_;  // guarded by mutex_
  std::atomic<bool> pending_{false};
};

}  // namespace godwit::verbs
