// The cheapest clock there is, for loops that read it in every iteration. One thread.
//
// Counts in units of its own; a loop that reads it also reads the steady clock at its begin and end, and
// TickSpan makes seconds of the one by the other. So nothing needs to be calibrated, and where the unit changes during
// a loop (an old processor's) only the single samples are off, not their sum.
#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace godwit::apps {

inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t count = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

class TickSpan {
 public:
  void start() noexcept {
    begin_ = std::chrono::steady_clock::now();
    first_ = last_ = ticks();
  }
  void stop() noexcept {
    last_ = ticks();
    end_ = std::chrono::steady_clock::now();
  }
  std::uint64_t first() const noexcept { return first_; }
  double seconds() const noexcept { return std::chrono::duration<double>(end_ - begin_).count(); }
  double seconds_per_tick() const noexcept {
    return last_ > first_ ? seconds() / static_cast<double>(last_ - first_) : 0;
  }

 private:
  std::chrono::steady_clock::time_point begin_, end_;
  std::uint64_t first_ = 0, last_ = 0;
};

}  // namespace godwit::apps
