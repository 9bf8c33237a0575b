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
  /// What to do after a pass that found nothing.
  Step next() noexcept;
  /// A pass found something: begin anew.
  void reset() noexcept { passes_ = 0; }

 private:
  Policy policy_;
  std::uint32_t passes_ = 0;
};

}  // namespace godwit::core
