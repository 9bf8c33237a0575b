// One rank's process as `godwit run` starts and ends it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace godwit::pmi {

struct ChildCommand {
  std::vector<std::string> arguments;    // [0] is the program, found by PATH
  std::vector<std::string> environment;  // "NAME=VALUE", all of it
  int input = 0, output = 1, error = 2;  // descriptors of this process
  std::size_t file_limit = 0;            // soft limit of open files that the child gets
  std::vector<int> cpus{};               // what it is bound to; empty: as this thread
};

struct StartedChild {
  pid_t pid = -1;      // its process group has the same number
  int exec_error = 0;  // errno if the program could not be run; the child has been reaped then
  int bind_error = 0;  // the same for binding
  bool runs() const noexcept { return exec_error == 0 && bind_error == 0; }
};

/// Returns when the program runs or could not be run. The child dies with this thread. Throws Error(no_memory)
/// when there can be no further process.
StartedChild start_child(const ChildCommand& command);

/// If the process has ended: its wait status, after it was reaped. What it leaves of its process group is killed.
std::optional<int> reap_if_ended(pid_t pid);

/// To the process group of a child that has not been reaped.
void signal_child(pid_t pid, int signal);

/// Lets this process open as many files as the hard limit allows. Returns the soft limit before.
std::size_t raise_file_limit();

}  // namespace godwit::pmi
