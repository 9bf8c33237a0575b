// A rank in another process, for tests that kill it. Make it before any Node of the test: fork copies one thread only.
#pragma once

#include "core/unique_fd.hpp"

#include <functional>
#include <vector>

#include <sys/types.h>

namespace godwit::conformance {

/// Blobs between parent and child.
class Channel {
 public:
  explicit Channel(core::UniqueFd socket) : socket_(std::move(socket)) {}
  void send(const std::vector<std::byte>& blob);
  /// Empty when the other side has gone.
  std::vector<std::byte> receive();

 private:
  core::UniqueFd socket_;
};

class Child {
 public:
  /// Runs `body` in a forked process, which then exits with what it returns.
  explicit Child(const std::function<int(Channel&)>& body);
  /// Kills it unless it has been waited for.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void signal(int number);
  /// Exit status, or minus the signal that ended it.
  int wait();
  pid_t pid() const noexcept { return pid_; }
  Channel& channel() { return channel_; }

 private:
  pid_t pid_ = -1;
  Channel channel_;
};

}  // namespace godwit::conformance
