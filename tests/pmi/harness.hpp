// Helpers of the bootstraps' tests: cards, processes of our own, a directory that must be empty in the end.
#pragma once

#include <gtest/gtest.h>
#include <godwit/types.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace godwit::pmi::test {

std::vector<std::byte> card_of(Rank rank);
/// A TCP port of 127.0.0.1 that nobody listens on right now.
std::uint16_t free_port();
/// What a call that must throw godwit::Error says; "" if it did not throw.
template <class Call>
std::string error_of(Call&& call);

/// A child process whose output is collected. The destructor kills it and its process group.
class Process {
 public:
  /// `environment`: "NAME=VALUE" added to ours, or "NAME" removed from it.
  Process(const std::vector<std::string>& command, const std::vector<std::string>& environment = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const noexcept { return pid_; }
  void signal(int number) const;
  /// Exit status (128 + signal), or -1 if it had not ended in time. Output of both kinds is in output() then.
  int wait(std::chrono::seconds limit = std::chrono::seconds(60));
  /// Waits until the output contains `text` that often; false if the process ends or the time does before.
  bool wait_for_output(const std::string& text, int times = 1, std::chrono::seconds limit = std::chrono::seconds(60));
  const std::string& output() const noexcept { return output_; }
  int count(const std::string& text) const;

 private:
  bool read_more(std::chrono::steady_clock::time_point deadline);
  pid_t pid_ = -1;
  int pipe_ = -1;
  int status_ = -1;
  std::string output_;
};

/// Somebody else's server on a port of 127.0.0.1: takes connections and never says a word.
class Listener {
 public:
  explicit Listener(std::uint16_t port);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  std::uint16_t port() const noexcept { return port_; }

 private:
  std::uint16_t port_;
  int fd_;
};

/// Somebody who connects to a port of 127.0.0.1 and is no rank.
class Stranger {
 public:
  explicit Stranger(std::uint16_t port);
  ~Stranger() { close(); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  void send(std::string_view bytes);
  /// True if the other side ends the connection within 20 s.
  bool was_dropped();
  void close();

 private:
  int fd_;
};

/// A fresh directory for TMPDIR, which must be empty when the test ends.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::string variable() const { return "TMPDIR=" + path_; }
  std::vector<std::string> entries() const;

 private:
  std::string path_;
};

}  // namespace godwit::pmi::test

#include <godwit/error.hpp>

namespace godwit::pmi::test {

template <class Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace godwit::pmi::test
