// Two processes of one program, each pinned to a CPU, over memory that both map. One thread in each.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <span>

namespace godwit::apps {

/// Memory that this process and the children that it forks later share; zeroed.
class SharedMapping {
 public:
  /// Throws std::system_error.
  explicit SharedMapping(std::size_t bytes);
  ~SharedMapping();
  SharedMapping(const SharedMapping&) = delete;
  SharedMapping& operator=(const SharedMapping&) = delete;
  std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

/// A forked child that runs `prepare` and `body` on a CPU of its own and ends. Pins the parent to the other one.
class Partner {
 public:
  struct Work {
    std::function<void()> prepare, body;
  };
  /// Returns when `prepare` has run. Throws std::system_error, std::runtime_error.
  Partner(int own_cpu, int cpu, const Work& work);
  /// Ends the child if it still runs.
  ~Partner();
  Partner(const Partner&) = delete;
  Partner& operator=(const Partner&) = delete;
  pid_t pid() const noexcept { return pid_; }
  /// Waits for the end of the child. Throws std::runtime_error if that was not a good one.
  void join();

 private:
  pid_t pid_ = -1;
};

}  // namespace godwit::apps
