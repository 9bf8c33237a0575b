#include "progress.hpp"

#include "core/text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace godwit::apps {

std::string progress_line(std::size_t bytes, long iteration, long iterations, std::chrono::seconds elapsed) {
  return fmt::format("{}: iteration {} of {}, {} s", core::format_size(bytes), iteration, iterations, elapsed.count());
}

Progress::Progress(bool wanted) : enabled_(wanted && ::isatty(STDERR_FILENO) == 1) {}

void Progress::show(Clock::time_point now, std::size_t bytes, long iteration, long iterations) {
  const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(now - start_);
  fmt::print(stderr, "\r\033[K{}", progress_line(bytes, iteration, iterations, elapsed));
  std::fflush(stderr);
  shown_ = true;
  next_ = now + std::chrono::milliseconds(100);
}

void Progress::erase() {
  if (!shown_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace godwit::apps
