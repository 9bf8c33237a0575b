// The log: one per context, a line per message, prefixed with rank and host. Not for the hot path.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>

namespace spdlog {
class logger;
}

namespace godwit::core {

enum class LogLevel : int { trace, debug, info, warn, error, off };

/// Lines go to standard error, or are appended to GODWIT_DEBUG_FILE (%h host name, %p process id, %r rank): each
/// with one write, so that several ranks may share the file. "[godwit 3@node1] info: ...". Any thread.
class Log {
 public:
  /// `file` empty: standard error; so do lines that come before the rank is known when `file` contains %r.
  /// Throws Error(invalid_argument) if the file cannot be opened.
  explicit Log(LogLevel level = LogLevel::warn, const std::string& file = {});
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// Known after bootstrap; before it the prefix is "[godwit]". Opens a file named by rank; throws as the constructor.
  void set_rank(int rank, std::string_view host);
  bool enabled(LogLevel level) const noexcept { return level >= level_; }
  /// A line that is text already.
  void write(LogLevel level, std::string_view line);

  template <class... A>
  void trace(fmt::format_string<A...> format, A&&... arguments) {
    log(LogLevel::trace, format, std::forward<A>(arguments)...);
  }
  template <class... A>
  void debug(fmt::format_string<A...> format, A&&... arguments) {
    log(LogLevel::debug, format, std::forward<A>(arguments)...);
  }
  template <class... A>
  void info(fmt::format_string<A...> format, A&&... arguments) {
    log(LogLevel::info, format, std::forward<A>(arguments)...);
  }
  template <class... A>
  void warn(fmt::format_string<A...> format, A&&... arguments) {
    log(LogLevel::warn, format, std::forward<A>(arguments)...);
  }
  template <class... A>
  void error(fmt::format_string<A...> format, A&&... arguments) {
    log(LogLevel::error, format, std::forward<A>(arguments)...);
  }

 private:
  template <class... A>
  void log(LogLevel level, fmt::format_string<A...> format, A&&... arguments) {
    if (enabled(level)) write(level, fmt::format(format, std::forward<A>(arguments)...));
  }

  class Sink;

  const LogLevel level_;
  const std::string file_;
  const std::shared_ptr<Sink> sink_;
  const std::unique_ptr<spdlog::logger> logger_;
};

}  // namespace godwit::core
