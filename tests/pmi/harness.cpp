#include "harness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <span>
#include <stdexcept>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace godwit::pmi::test {

std::vector<std::byte> card_of(Rank rank) {
  const std::string text = fmt::format("card of rank {}", rank);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

}  // namespace

Listener::Listener(std::uint16_t port) : port_(port), fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const sockaddr_in address = loopback(port);
  if (bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || listen(fd_, 64) != 0)
    throw std::runtime_error("cannot listen");
}
Listener::~Listener() { ::close(fd_); }

Stranger::Stranger(std::uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const sockaddr_in address = loopback(port);
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("cannot connect");
}

void Stranger::send(std::string_view bytes) {
  if (::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
    throw std::runtime_error("cannot send");
}

bool Stranger::was_dropped() {
  std::array<char, 256> buffer;
  pollfd polled{fd_, POLLIN, 0};
  while (poll(&polled, 1, 20000) > 0)
    if (read(fd_, buffer.data(), buffer.size()) <= 0) return true;
  return false;
}

void Stranger::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

std::uint16_t free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof address;
  const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  close(fd);
  if (!bound) throw std::runtime_error("no free port");
  return ntohs(address.sin_port);
}

Process::Process(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (const std::string& entry : environment) {
      const auto equals = entry.find('=');
      if (equals == std::string::npos)
        unsetenv(entry.c_str());
      else
        setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 1);
    }
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  setpgid(pid_, pid_);
  close(ends[1]);
  pipe_ = ends[0];
}

Process::~Process() {
  if (status_ < 0) {
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (pipe_ >= 0) close(pipe_);
}

void Process::signal(int number) const { kill(pid_, number); }

bool Process::read_more(std::chrono::steady_clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  pollfd polled{pipe_, POLLIN, 0};
  if (left.count() <= 0 || poll(&polled, 1, static_cast<int>(left.count())) <= 0) return false;
  std::array<char, 4096> buffer;
  const ssize_t count = read(pipe_, buffer.data(), buffer.size());
  if (count > 0) output_.append(buffer.data(), static_cast<std::size_t>(count));
  return count > 0;
}

int Process::wait(std::chrono::seconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (read_more(deadline)) continue;
  if (std::chrono::steady_clock::now() >= deadline) return -1;
  int status = 0;
  if (waitpid(pid_, &status, 0) != pid_) return -1;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return status_;
}

bool Process::wait_for_output(const std::string& text, int times, std::chrono::seconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (count(text) < times)
    if (!read_more(deadline)) return count(text) >= times;
  return true;
}

int Process::count(const std::string& text) const {
  int found = 0;
  for (auto at = output_.find(text); at != std::string::npos; at = output_.find(text, at + text.size())) ++found;
  return found;
}

TemporaryDirectory::TemporaryDirectory() {
  path_ = (std::filesystem::temp_directory_path() / "pmi-test.XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary directory");
}

TemporaryDirectory::~TemporaryDirectory() { std::filesystem::remove_all(path_); }

std::vector<std::string> TemporaryDirectory::entries() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) names.push_back(entry.path().filename());
  return names;
}

}  // namespace godwit::pmi::test
