// The sink behind the log. Its mutex (base_sink's) guards the descriptor and the prefix.
#include "core/log.hpp"

#include <godwit/error.hpp>

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

namespace godwit::core {

namespace {

std::string this_host() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

// `rank` below 0: not known.
std::string expand(std::string_view pattern, int rank) {
  std::string text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    switch (next) {
      case 'h': text += this_host(); break;
      case 'p': text += fmt::format("{}", getpid()); break;
      case 'r': text += fmt::format("{}", rank); break;
      case '%': text += '%'; break;
      default: text += pattern[i]; continue;
    }
    ++i;
  }
  return text;
}

bool names_rank(std::string_view pattern) { return expand(pattern, 0) != expand(pattern, 1); }

spdlog::level::level_enum level_of(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::trace: return spdlog::level::trace;
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warn: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
    case LogLevel::off: return spdlog::level::off;
  }
  return spdlog::level::err;
}

// "%" means something in spdlog's patterns.
std::string pattern_with(std::string_view prefix) {
  std::string pattern;
  for (const char c : prefix) pattern.append(c == '%' ? 2 : 1, c);
  return pattern + " %l: %v";
}

}  // namespace

/// One write(2) per message, so that ranks that share a terminal, pipe or file do not mix within a line.
class Log::Sink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  Sink() : base_sink(std::make_unique<spdlog::pattern_formatter>(pattern_with("[godwit]"))) {}
  ~Sink() override {
    if (fd_ != STDERR_FILENO) ::close(fd_);
  }

  void open(const std::string& path) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0)
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("GODWIT_DEBUG_FILE: cannot open {}: {}; name a file that this user can write", path,
                              std::strerror(errno)));
    const std::lock_guard lock(mutex_);
    fd_ = fd;
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    std::string_view rest(line.data(), line.size());
    while (!rest.empty()) {  // once, unless the system takes only a part
      const ssize_t written = ::write(fd_, rest.data(), rest.size());
      if (written >= 0)
        rest.remove_prefix(static_cast<std::size_t>(written));
      else if (errno == EAGAIN)
        wait_until_writable();
      else if (errno != EINTR)
        spdlog::throw_spdlog_ex("cannot write the log", errno);  // spdlog reports it on standard error
    }
  }
  void flush_() override {}

 private:
  void wait_until_writable() const {
    pollfd state{fd_, POLLOUT, 0};
    ::poll(&state, 1, -1);  // whatever comes of it, the next write tells
  }

  int fd_ = STDERR_FILENO;
};

Log::Log(LogLevel level, const std::string& file)
    : level_(level),
      file_(file),
      sink_(std::make_shared<Sink>()),
      logger_(std::make_unique<spdlog::logger>("godwit", sink_)) {
  logger_->set_level(spdlog::level::trace);  // enabled() has decided
  if (!file_.empty() && !names_rank(file_)) sink_->open(expand(file_, -1));
}

Log::~Log() = default;

void Log::set_rank(int rank, std::string_view host) {
  sink_->set_pattern(pattern_with(fmt::format("[godwit {}@{}]", rank, host)));
  if (!file_.empty() && names_rank(file_)) sink_->open(expand(file_, rank));
}

void Log::write(LogLevel level, std::string_view line) {
  if (enabled(level)) logger_->log(level_of(level), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace godwit::core
