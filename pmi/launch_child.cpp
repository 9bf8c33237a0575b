#include "pmi/launch_child.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace godwit::pmi {
namespace {

/// Everything that the child needs, made before fork(): between fork() and exec() it may not allocate, because
/// PMIx's thread may have held the allocator's lock.
struct Prepared {
  std::vector<char*> arguments, environment;
  int input, output, error, report;
  rlim_t file_limit;
  pid_t parent;
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

/// Moves a descriptor to 0, 1 or 2, where exec() keeps it.
bool place(int from, int to) { return from == to || dup2(from, to) == to; }

[[noreturn]] void become(const Prepared& p) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != p.parent) _exit(127);  // it died before the line above
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD, SIGUSR1, SIGUSR2}) ::signal(signal, SIG_DFL);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = p.file_limit;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  if (place(p.input, 0) && place(p.output, 1) && place(p.error, 2)) {
    environ = const_cast<char**>(p.environment.data());
    execvp(p.arguments[0], p.arguments.data());
  }
  const int error = errno;
  if (write(p.report, &error, sizeof error) < 0) _exit(126);
  _exit(127);
}

/// What the child wrote before it ended, or 0 when exec() closed the pipe.
int read_error(int fd) {
  int error = 0;
  ssize_t count = 0;
  while ((count = read(fd, &error, sizeof error)) < 0 && errno == EINTR) continue;
  return count == sizeof error ? error : 0;
}

}  // namespace

StartedChild start_child(const ChildCommand& command) {
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0)
    throw Error(ErrorCode::no_memory, fmt::format("godwit run: no pipe for a rank: {}", std::strerror(errno)));
  const Prepared prepared{pointers(command.arguments),
                          pointers(command.environment),
                          command.input,
                          command.output,
                          command.error,
                          report[1],
                          command.file_limit,
                          getpid()};
  StartedChild child;
  child.pid = fork();
  if (child.pid == 0) become(prepared);
  const int fork_error = errno;
  close(report[1]);
  if (child.pid > 0) {
    setpgid(child.pid, child.pid);  // also here: the child may not have got to it; fails harmlessly after its exec()
    child.exec_error = read_error(report[0]);
  }
  close(report[0]);
  if (child.pid < 0)
    throw Error(ErrorCode::no_memory, fmt::format("godwit run: no process for a rank: {}", std::strerror(fork_error)));
  if (child.exec_error != 0) waitpid(child.pid, nullptr, 0);
  return child;
}

std::optional<int> reap_if_ended(pid_t pid) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return {};
  kill(-pid, SIGKILL);  // while the zombie keeps the number from being used anew
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

void signal_child(pid_t pid, int signal) { kill(-pid, signal); }

std::size_t raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);  // refused: then the old limit holds, and says so when it is reached
  return before;
}

}  // namespace godwit::pmi
