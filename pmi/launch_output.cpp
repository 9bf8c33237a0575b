#include "pmi/launch_output.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace godwit::pmi {
namespace {

constexpr std::size_t longest_line = 1 << 20;  // a longer one is cut: it would be held in memory
constexpr std::size_t most_reads = 64;         // of 64 KiB each: more than any pipe holds
constexpr std::size_t write_unit = 4096;       // a pipe that poll() calls writable takes this much at once

void make_pipe(int (&ends)[2]) {
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw Error(ErrorCode::no_memory,
                fmt::format("godwit run: no pipe for the ranks' output: {}", std::strerror(errno)));
}

}  // namespace

LaunchOutput::LaunchOutput(bool tag) : tag_(tag) { make_pipe(control_); }

LaunchOutput::~LaunchOutput() {
  finish(true);
  for (const Source& source : sources_)
    if (source.fd >= 0) close(source.fd);
  for (const int fd : control_) close(fd);
}

int LaunchOutput::add(Rank rank, int target) {
  int ends[2];
  make_pipe(ends);
  sources_.push_back({rank, ends[0], target, {}});
  return ends[1];
}

void LaunchOutput::start() {
  thread_ = std::thread([this] { run(); });
}

void LaunchOutput::finish(bool give_up) {
  if (!thread_.joinable()) return;
  signal_thread(give_up ? 'g' : 'f');
  thread_.join();
}

void LaunchOutput::signal_thread(char what) {
  while (write(control_[1], &what, 1) < 0 && errno == EINTR) continue;
}

void LaunchOutput::run() {
  while (!finishing_) {
    std::vector<pollfd> polled{{control_[0], POLLIN, 0}};
    std::vector<Source*> open;
    for (Source& source : sources_) {
      if (source.fd < 0) continue;
      polled.push_back({source.fd, POLLIN, 0});
      open.push_back(&source);
    }
    if (poll(polled.data(), polled.size(), -1) < 0) continue;  // interrupted
    if (polled[0].revents != 0) take_orders();
    for (std::size_t i = 0; i < open.size(); ++i)
      if (polled[i + 1].revents != 0) read_from(*open[i]);
  }
  for (Source& source : sources_) drain(source);
}

void LaunchOutput::drain(Source& source) {
  // The ranks have ended, so all that counts is in the pipe. A process that outlived its rank may go on for ever.
  pollfd polled{source.fd, POLLIN, 0};
  for (std::size_t reads = 0; reads < most_reads && source.fd >= 0 && poll(&polled, 1, 0) > 0; ++reads)
    read_from(source);
  write_lines(source, true);
  close_source(source);
}

void LaunchOutput::take_orders() {
  std::array<char, 16> orders{};
  const ssize_t count = read(control_[0], orders.data(), orders.size());
  for (ssize_t i = 0; i < count; ++i) {
    finishing_ = true;
    giving_up_ = giving_up_ || orders[i] == 'g';
  }
}

void LaunchOutput::read_from(Source& source) {
  std::array<char, 65536> buffer{};
  const ssize_t count = read(source.fd, buffer.data(), buffer.size());
  if (count < 0 && errno == EINTR) return;
  if (count > 0) source.partial.append(buffer.data(), static_cast<std::size_t>(count));
  write_lines(source, count <= 0);
  if (count <= 0) close_source(source);
}

void LaunchOutput::write_lines(Source& source, bool at_end) {
  if (source.partial.empty()) return;
  std::size_t end = source.partial.rfind('\n') + 1;  // npos + 1 = 0
  if (at_end || (end == 0 && source.partial.size() > longest_line)) {
    end = source.partial.size();
    if (source.partial.back() != '\n') {
      source.partial += '\n';
      ++end;
    }
  }
  if (end == 0) return;
  std::string_view lines(source.partial.data(), end);
  std::string tagged;
  if (tag_) {
    while (!lines.empty()) {
      const std::size_t length = lines.find('\n') + 1;
      tagged += fmt::format("[{}] {}", source.rank, lines.substr(0, length));
      lines.remove_prefix(length);
    }
    lines = tagged;
  }
  write_all(source.target, lines);
  source.partial.erase(0, end);
}

void LaunchOutput::write_all(int target, std::string_view text) {
  while (!text.empty()) {
    std::array<pollfd, 2> polled{{{target, POLLOUT, 0}, {control_[0], POLLIN, 0}}};
    if (poll(polled.data(), polled.size(), giving_up_ ? 0 : -1) < 0 && errno == EINTR) continue;
    if (polled[1].revents != 0) take_orders();
    if (polled[0].revents == 0) {
      if (giving_up_) return;
      continue;
    }
    const ssize_t count = write(target, text.data(), std::min(text.size(), write_unit));
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR && errno != EAGAIN) {
      // Whoever read our output has gone: the ranks shall see what they would see without us.
      for (Source& source : sources_)
        if (source.target == target) close_source(source);
      return;
    }
  }
}

void LaunchOutput::close_source(Source& source) {
  if (source.fd >= 0) close(source.fd);
  source.fd = -1;
}

}  // namespace godwit::pmi
