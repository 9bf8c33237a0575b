// Spin, then yield, then sleep. A waiting rank must neither starve its neighbours nor notice late.
#pragma once

#include <cstdint>
#include <string_view>

namespace godwit::core {

class WaitLadder {
 public:
  enum class Step : std::uint8_t { spin, yield, sleep };
  struct Policy {
    std::uint32_t spins = 0;   // passes without giving the CPU up
    std::uint32_t yields = 0;  // passes with sched_yield before sleeping
    bool sleeps = true;
  };

  /// `mode`: GODWIT_WAIT. `oversubscribed`: more ranks on this host than CPUs for them.
  static Policy policy(std::string_view mode, bool oversubscribed) noexcept;

  explicit WaitLadder(Policy policy) noexcept : policy_(policy) {}
  /// Spin once more after a pass that found nothing? Else next() says what to do.
  bool spin() noexcept {
    if (passes_ >= policy_.spins) return false;
    ++passes_;
    return true;
  }
  /// What to do after a pass that found nothing.
  Step next() noexcept;
  /// A pass found something: begin anew.
  void reset() noexcept { passes_ = 0; }

 private:
  Policy policy_;
  std::uint32_t passes_ = 0;
};

/// Between two looks at memory that another core writes: keeps the core from running looks ahead, which it would have
/// to undo when the value changes.
inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// The line will be written soon, and other cores have read it: gets it back meanwhile.
inline void expect_write(const void* address) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

}  // namespace godwit::core
