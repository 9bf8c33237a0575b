#include "bench/partner.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <system_error>

namespace godwit::apps {

namespace {

[[noreturn]] void throw_errno(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (::sched_setaffinity(0, sizeof(set), &set) != 0) throw_errno(fmt::format("CPU {} cannot be used", cpu));
}

[[noreturn]] void run_child(int cpu, int ready, pid_t parent, const Partner::Work& work) {
  int status = 0;
  try {
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) throw_errno("prctl(PR_SET_PDEATHSIG)");
    if (::getppid() != parent) ::_exit(1);  // the parent ended before that
    pin(cpu);
    work.prepare();
    if (::write(ready, "", 1) != 1) throw_errno("write to the parent's pipe");
    ::close(ready);
    work.body();
  } catch (const std::exception& error) {
    fmt::print(stderr, "machine_perf: the second process, on CPU {}: {}\n", cpu, error.what());
    status = 1;
  }
  ::_exit(status);
}

}  // namespace

SharedMapping::SharedMapping(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw_errno(fmt::format("mmap of {} shared bytes", bytes));
  bytes_ = {static_cast<std::byte*>(memory), bytes};
}

SharedMapping::~SharedMapping() { ::munmap(bytes_.data(), bytes_.size()); }

Partner::Partner(int own_cpu, int cpu, const Work& work) {
  pin(own_cpu);
  int ends[2];
  if (::pipe(ends) != 0) throw_errno("pipe");
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::close(ends[0]);
    run_child(cpu, ends[1], parent, work);
  }
  const int fork_error = errno;
  ::close(ends[1]);
  char byte = 0;
  const bool ready = pid_ > 0 && ::read(ends[0], &byte, 1) == 1;
  ::close(ends[0]);
  if (pid_ < 0) throw std::system_error(fork_error, std::generic_category(), "fork");
  if (!ready) {
    ::waitpid(pid_, nullptr, 0);
    throw std::runtime_error(fmt::format("the second process did not start on CPU {}", cpu));
  }
}

Partner::~Partner() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Partner::join() {
  int status = 0;
  const pid_t ended = ::waitpid(pid_, &status, 0);
  pid_ = -1;
  if (ended < 0) throw_errno("waitpid");
  if (status != 0) throw std::runtime_error(fmt::format("the second process ended with wait status {}", status));
}

}  // namespace godwit::apps
