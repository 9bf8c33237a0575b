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

/// Lines go to standard error, or to GODWIT_DEBUG_FILE (%h host name, %p process id, %r rank), whole.
/// "[godwit 3@node1] info: ..."
class Log {
 public:
  /// `file` empty: standard error.
  explicit Log(LogLevel level = LogLevel::warn, const std::string& file = {});
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// Known after bootstrap; before it the prefix is "[godwit]".
  void set_rank(int rank, std::string_view host);
  bool enabled(LogLevel level) const noexcept { return level >= level_; }
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

  LogLevel level_;
  std::string prefix_ = "[godwit]";
  std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace godwit::core
