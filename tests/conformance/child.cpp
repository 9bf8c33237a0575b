#include "child.hpp"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <stdexcept>

namespace godwit::conformance {

void Channel::send(const std::vector<std::byte>& blob) {
  if (::send(socket_.get(), blob.data(), blob.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(blob.size()))
    throw std::runtime_error("the other process has gone");
}

std::vector<std::byte> Channel::receive() {
  std::vector<std::byte> blob(4096);
  const ssize_t n = ::recv(socket_.get(), blob.data(), blob.size(), 0);
  blob.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  return blob;
}

Child::Child(const std::function<int(Channel&)>& body) : channel_(core::UniqueFd()) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw std::runtime_error("socketpair failed");
  core::UniqueFd ours(ends[0]), theirs(ends[1]);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("fork failed");
  if (pid_ != 0) {
    channel_ = Channel(std::move(ours));
    return;
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) std::_Exit(99);
  ours.reset();
  Channel channel(std::move(theirs));
  int status = 98;
  try {
    status = body(channel);
  } catch (const std::exception& error) {
    std::cerr << "child: " << error.what() << std::endl;
  }
  std::_Exit(status);
}

Child::~Child() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  wait();
}

void Child::signal(int number) { ::kill(pid_, number); }

int Child::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace godwit::conformance
