// Waking a sleeping peer. The sleeper pays for it: before it sleeps it sets its `asleep` word, makes every other
// process that uses membarrier(2) execute a full fence, and looks at its rings once more. The sender only loads the
// word after it has published, without a fence: either it sees that we sleep, or we see its message.
// Where membarrier is refused on either side, the sender uses a fence.
//
// The word holds the number of the sleep, and the sender writes the eventfd before it clears the word, and clears
// it for that sleep only: so that a sender which is killed or stopped in between takes nobody's wake-up along.
//
// Threads: Bell: begin_sleep() and end_sleep() by the worker, wake() by any; PeerBell: one thread.
#pragma once

#include "core/fence.hpp"
#include "core/shared_memory.hpp"
#include "shm/layout.hpp"

#include <atomic>

namespace godwit::shm {

class Bell {
 public:
  /// Throws Error(no_memory). `use_membarrier` false: for tests.
  explicit Bell(bool use_membarrier = true);

  /// After it, whoever publishes either sees that we sleep or has published before.
  void begin_sleep() noexcept;
  void end_sleep() noexcept;
  /// From another thread of this process, after it has left something for the worker.
  void wake() noexcept;

  int event_fd() const noexcept { return event_.get(); }
  int page_fd() const noexcept { return page_.fd(); }
  bool has_membarrier() const noexcept { return membarrier_; }

 private:
  core::SharedMemory page_;
  core::UniqueFd event_;
  bool membarrier_;
  std::uint32_t sleeps_ = 0;
};

class PeerBell {
 public:
  PeerBell() noexcept = default;
  /// `fence`: at least one of the two sides has no membarrier.
  PeerBell(core::SharedMemory page, core::UniqueFd event, bool fence) noexcept
      : page_(std::move(page)), event_(std::move(event)), fence_(fence) {
    asleep_ = &reinterpret_cast<BellPage*>(page_.data())->asleep;
  }

  /// After publishing.
  void ring() noexcept {
    if (fence_) [[unlikely]]
      core::full_fence();
    else
      std::atomic_signal_fence(std::memory_order_seq_cst);
    const std::uint32_t sleep = std::atomic_ref(*asleep_).load(std::memory_order_relaxed);
    if (sleep != 0) [[unlikely]]
      wake(sleep);
  }

 private:
  void wake(std::uint32_t sleep) noexcept;

  std::uint32_t* asleep_ = nullptr;
  core::SharedMemory page_;
  core::UniqueFd event_;
  bool fence_ = true;
};

}  // namespace godwit::shm
