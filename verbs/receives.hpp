// Receive buffers for one peer's frames, on every rail that they may come over. Threads: take(): the service thread;
// the rest anywhere.
#pragma once

#include "verbs/adapter.hpp"

#include <array>
#include <cstdint>

namespace godwit::verbs {

class Receives {
 public:
  /// As many as `first` has for one more peer. Throws Error(no_memory).
  explicit Receives(Adapter& first) : frames_(first.reserve_receives()) { on_[first.rail()] = &first; }
  ~Receives() {
    for (Adapter* adapter : on_)
      if (adapter != nullptr) adapter->release_receives(frames_);
  }
  Receives(const Receives&) = delete;
  Receives& operator=(const Receives&) = delete;

  /// Frames that the peer may have under way, over all rails together: over each it may be all of them.
  std::uint32_t frames() const noexcept { return frames_; }
  /// The peer's frames may come over this one, too. Throws Error(no_memory).
  void take(Adapter& adapter) {
    if (on_[adapter.rail()] != nullptr) return;
    adapter.reserve_receives(frames_);
    on_[adapter.rail()] = &adapter;
  }

 private:
  const std::uint32_t frames_;
  std::array<Adapter*, most_rails_in_use> on_{};
};

}  // namespace godwit::verbs
