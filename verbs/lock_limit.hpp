// RLIMIT_MEMLOCK: how much memory a process may pin, and with that register. Pure functions but lock_limit().
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace godwit::verbs {

struct LockLimit {
  static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t soft = unlimited, hard = unlimited;  // bytes
  bool exempt = false;  // CAP_IPC_LOCK: most drivers do not count then, but soft-iWARP does
};

/// Below this, real programs run out sooner or later.
inline constexpr std::uint64_t comfortable_lock_limit = std::uint64_t{512} << 20;

/// Of this process, now.
LockLimit lock_limit() noexcept;
/// "8M", "unlimited".
std::string limit_text(std::uint64_t bytes);
/// One line if fewer than `least` bytes can be registered, with what that means and how to raise it; else empty.
std::string lock_limit_warning(const LockLimit& limit, std::uint64_t least = comfortable_lock_limit);
/// "`ulimit -l unlimited` ...": what a user can do, or the administrator has to.
std::string how_to_raise(const LockLimit& limit);

}  // namespace godwit::verbs
