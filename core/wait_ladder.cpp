#include "core/wait_ladder.hpp"

namespace godwit::core {

WaitLadder::Policy WaitLadder::policy(std::string_view mode, bool oversubscribed) noexcept {
  constexpr auto forever = static_cast<std::uint32_t>(-1);
  if (mode == "spin") return {.spins = forever, .yields = 0, .sleeps = false};
  if (mode == "yield") return {.spins = 100, .yields = forever, .sleeps = false};
  if (mode == "sleep") return {.spins = 0, .yields = 0, .sleeps = true};
  // A pass costs some 50 ns, a yield with nobody waiting some 300 ns: about 5 ms before the first sleep, whose
  // wake-up costs some 50 us. Oversubscribed, whoever we wait for needs this CPU: a yield lets all others on it run,
  // which costs a microsecond for each.
  if (oversubscribed) return {.spins = 12, .yields = 1000, .sleeps = true};
  return {.spins = 20000, .yields = 10000, .sleeps = true};
}

WaitLadder::Step WaitLadder::next() noexcept {
  if (spin()) return Step::spin;
  if (!policy_.sleeps) return Step::yield;
  if (passes_ - policy_.spins < policy_.yields) {
    ++passes_;
    return Step::yield;
  }
  return Step::sleep;
}

}  // namespace godwit::core
