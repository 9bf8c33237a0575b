// Time as the engine sees it: a coarse clock that somebody else advances, so that reading it costs one load.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace godwit::core {

/// Milliseconds since an arbitrary start. The ServiceThread advances it every 100 ms; tests set it by hand.
class Clock {
 public:
  std::int64_t now_ms() const noexcept { return now_ms_.load(std::memory_order_relaxed); }
  void set_ms(std::int64_t ms) noexcept { now_ms_.store(ms, std::memory_order_relaxed); }
  /// Takes the steady clock's time.
  void refresh() noexcept {
    set_ms(std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
               .count());
  }

 private:
  std::atomic<std::int64_t> now_ms_{0};
};

}  // namespace godwit::core
