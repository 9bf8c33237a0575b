// `godwit run`: starts the ranks of a job on this host, with a PMIx server for them.
#pragma once

#include <string>
#include <vector>

#include "pmi/binding.hpp"

namespace godwit::pmi {

struct LaunchOptions {
  int ranks = 1;
  bool keep_going = false;               // a rank's death does not end the others
  Bind bind = Bind::none;                // which of the CPUs that this process may use a rank gets
  bool report_bindings = false;          // a line on standard error for each rank
  bool tag_output = false;               // "[3] " before every line of rank 3
  std::vector<std::string> environment;  // "NAME=VALUE" for the ranks
  std::vector<std::string> command;      // program, found by PATH, and its arguments
};

/// Starts the ranks and returns when all have ended: 0, or the status of the first that failed (128 + signal; 127
/// if the program cannot be run). Prints a line on standard error for each that failed. SIGINT, SIGTERM and SIGHUP
/// end the ranks, with SIGKILL after 2 s; SIGUSR1 and SIGUSR2 go on to them. Rank 0 reads standard input unless
/// that is a terminal. Uses signal handlers, the PMIx server of this process and its environment: call it from
/// main, once. Throws Error(invalid_argument) for the options, Error(bootstrap) when the server does not start
/// or the host does not tell its cores.
int run_local_ranks(const LaunchOptions& options);

}  // namespace godwit::pmi
