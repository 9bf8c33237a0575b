#include "pmi/launch_child.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <sched.h>
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
  std::vector<unsigned long> cpus;  // as sched_setaffinity takes them
  int input, output, error, report;
  rlim_t file_limit;
  pid_t parent;
};

/// errno of what failed.
struct Failure {
  int exec, bind;
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

std::vector<unsigned long> mask_of(const std::vector<int>& cpus) {
  constexpr std::size_t bits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> mask;
  for (const int cpu : cpus) {
    const std::size_t word = static_cast<std::size_t>(cpu) / bits;
    if (word >= mask.size()) mask.resize(word + 1);
    mask[word] |= 1UL << (static_cast<std::size_t>(cpu) % bits);
  }
  return mask;
}

bool bind_to(const std::vector<unsigned long>& mask) {
  return mask.empty() ||
         sched_setaffinity(0, mask.size() * sizeof mask[0], reinterpret_cast<const cpu_set_t*>(mask.data())) == 0;
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
  const bool bound = bind_to(p.cpus);
  if (bound && place(p.input, 0) && place(p.output, 1) && place(p.error, 2)) {
    environ = const_cast<char**>(p.environment.data());
    execvp(p.arguments[0], p.arguments.data());
  }
  const Failure failure{bound ? errno : 0, bound ? 0 : errno};
  if (write(p.report, &failure, sizeof failure) < 0) _exit(126);
  _exit(127);
}

/// What the child wrote before it ended, or zeros when exec() closed the pipe.
Failure read_failure(int fd) {
  Failure failure{};
  ssize_t count = 0;
  while ((count = read(fd, &failure, sizeof failure)) < 0 && errno == EINTR) continue;
  return count == sizeof failure ? failure : Failure{};
}

}  // namespace

StartedChild start_child(const ChildCommand& command) {
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0)
    throw Error(ErrorCode::no_memory, fmt::format("godwit run: no pipe for a rank: {}", std::strerror(errno)));
  const Prepared prepared{pointers(command.arguments),
                          pointers(command.environment),
                          mask_of(command.cpus),
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
    const Failure failure = read_failure(report[0]);
    child.exec_error = failure.exec;
    child.bind_error = failure.bind;
  }
  close(report[0]);
  if (child.pid < 0)
    throw Error(ErrorCode::no_memory, fmt::format("godwit run: no process for a rank: {}", std::strerror(fork_error)));
  if (!child.runs()) waitpid(child.pid, nullptr, 0);
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
