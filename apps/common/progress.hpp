// One line on the terminal that says how far a long run is. One thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace godwit::apps {

/// "64M: iteration 3 of 20, 12 s"
std::string progress_line(std::size_t bytes, long iteration, long iterations, std::chrono::seconds elapsed);

/// Shows its line on standard error if that is a terminal, at most ten times a second and not in the first half
/// second, so that short runs stay clean. Cheap enough for timed loops: one clock reading a call.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  /// `wanted`: this process is the one that prints.
  explicit Progress(bool wanted);
  ~Progress() { erase(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::size_t bytes, long iteration, long iterations) {
    if (!enabled_) return;
    const auto now = Clock::now();
    if (now >= next_) show(now, bytes, iteration, iterations);
  }
  /// Takes the line away; call before printing anything else.
  void erase();

 private:
  void show(Clock::time_point now, std::size_t bytes, long iteration, long iterations);

  bool enabled_;
  bool shown_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_ + std::chrono::milliseconds(500);
};

}  // namespace godwit::apps
