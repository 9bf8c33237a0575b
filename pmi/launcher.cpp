#include "pmi/launcher.hpp"

#include "pmi/launch_child.hpp"
#include "pmi/launch_environment.hpp"
#include "pmi/launch_output.hpp"
#include "pmi/launch_server.hpp"
#include "pmi/rank_list.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace godwit::pmi {
namespace {

constexpr std::chrono::seconds kill_after{2};  // SIGKILL follows SIGTERM
constexpr int max_ranks = 4096;

template <class... A>
void say(fmt::format_string<A...> format, A&&... arguments) {
  // One write, so that lines of other processes do not come in between.
  const std::string line = "godwit run: " + fmt::format(format, std::forward<A>(arguments)...) + "\n";
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;  // nobody listens
}

/// Writing to a closed pipe is an error to handle here, not the end.
class IgnoredSigpipe {
 public:
  IgnoredSigpipe() : before_(std::signal(SIGPIPE, SIG_IGN)) {}
  ~IgnoredSigpipe() { std::signal(SIGPIPE, before_); }
  IgnoredSigpipe(const IgnoredSigpipe&) = delete;
  IgnoredSigpipe& operator=(const IgnoredSigpipe&) = delete;

 private:
  void (*before_)(int);
};

void check(const LaunchOptions& options) {
  const auto wrong = [](const std::string& message) {
    throw Error(ErrorCode::invalid_argument, "godwit run: " + message);
  };
  if (options.ranks < 1 || options.ranks > max_ranks)
    wrong(fmt::format("-n {} is not within 1 to {}", options.ranks, max_ranks));
  if (options.command.empty() || options.command[0].empty())
    wrong("no program given: godwit run -n 4 -- ./app arguments");
  for (const std::string& entry : options.environment)
    if (entry.find('=') == std::string::npos || entry[0] == '=') wrong(fmt::format("-x {} is not NAME=VALUE", entry));
}

int exit_code(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

/// True if both descriptors are the same file, as after `2>&1`.
bool same_file(int a, int b) {
  struct stat first {
  }, second{};
  return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

class Launch {
 public:
  explicit Launch(const LaunchOptions& options)
      : options_(options),
        signals_(io_, SIGCHLD, SIGINT, SIGTERM),
        kill_timer_(io_),
        server_(options.ranks, directory_.path(),
                [this](Rank rank, int status, std::string message) {
                  boost::asio::post(io_, [=, this] { aborted(rank, status, message); });
                }),
        output_(options.tag_output),
        outputs_(options.ranks),
        pids_(options.ranks, -1) {
    if (options.bind != Bind::none || options.report_bindings) binding_ = Binding::of_this_host(options.bind);
    for (const int signal : {SIGHUP, SIGUSR1, SIGUSR2}) signals_.add(signal);
  }
  ~Launch() {
    for (const pid_t pid : pids_)
      if (pid > 0) signal_child(pid, SIGKILL);  // an error threw: nothing may stay
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  int run() {
    wait_for_signal();
    start_ranks();
    while (running_ > 0) io_.run_one();
    output_.finish(stopped_by_signal_);
    return status_;
  }

 private:
  struct Outputs {
    int out = 1, error = 2;
    std::vector<int> opened;  // to close once the rank has them
  };

  void open_outputs();
  void start_ranks();
  void start_rank(Rank rank, const ChildCommand& command);
  void wait_for_signal();
  void on_signal(int signal);
  void reap();
  void ended(Rank rank, pid_t pid, int wait_status);
  void aborted(Rank rank, int status, const std::string& message);
  void stop(int signal, Rank except = -1);
  void send_all(int signal, Rank except = -1);
  void set_status(int status) {
    if (status_ == 0) status_ = status;
  }

  const LaunchOptions& options_;
  const IgnoredSigpipe ignored_sigpipe_;
  boost::asio::io_context io_;
  boost::asio::signal_set signals_;  // before the directory: from here on no signal leaves that behind
  boost::asio::steady_timer kill_timer_;
  TemporaryDirectory directory_;
  LaunchServer server_;
  LaunchOutput output_;
  std::vector<Outputs> outputs_;
  std::vector<pid_t> pids_;         // -1: not running
  std::optional<Binding> binding_;  // nothing: ranks are not bound
  int running_ = 0;
  int status_ = 0;
  bool stopping_ = false, stopped_by_signal_ = false;
};

void Launch::open_outputs() {
  // Whole lines matter when several ranks write; one rank alone, or a terminal, is better served directly.
  const auto piped = [this](int target) { return options_.tag_output || (options_.ranks > 1 && !isatty(target)); };
  const bool one_pipe = piped(1) && piped(2) && same_file(1, 2);  // keeps the order between the two
  for (Rank rank = 0; rank < options_.ranks; ++rank) {
    Outputs& outputs = outputs_[rank];
    if (piped(1)) outputs.opened.push_back(outputs.out = output_.add(rank, 1));
    if (one_pipe)
      outputs.error = outputs.out;
    else if (piped(2))
      outputs.opened.push_back(outputs.error = output_.add(rank, 2));
  }
  output_.start();
}

void Launch::start_ranks() {
  const std::size_t file_limit = raise_file_limit();
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  open_outputs();
  const auto environment = environment_with(options_.environment);
  if (const std::string words = binding_ ? binding_->shortage(options_.ranks) : ""; !words.empty()) say("{}", words);
  for (Rank rank = 0; rank < options_.ranks; ++rank) {
    if (!stopping_) {
      start_rank(rank, {.arguments = options_.command,
                        .environment = server_.environment_for(rank, environment),
                        .input = rank == 0 && !isatty(0) ? 0 : null,
                        .output = outputs_[rank].out,
                        .error = outputs_[rank].error,
                        .file_limit = file_limit,
                        .cpus = binding_ ? binding_->cpus_of(rank) : Cpus{}});
    }
    for (const int fd : outputs_[rank].opened) close(fd);
    io_.poll();  // a rank that fails at once, or ^C, ends this early
  }
  close(null);
}

void Launch::start_rank(Rank rank, const ChildCommand& command) {
  const StartedChild child = start_child(command);
  if (child.runs()) {
    pids_[rank] = child.pid;
    ++running_;
    if (options_.report_bindings) say("{}", binding_->describe(rank));
    return;
  }
  if (child.bind_error != 0)
    say("rank {} cannot be bound to {}: {}", rank, cpu_list(command.cpus), std::strerror(child.bind_error));
  else
    say("rank {} cannot run {}: {}", rank, options_.command[0], std::strerror(child.exec_error));
  set_status(127);
  stop(SIGTERM);
}

void Launch::wait_for_signal() {
  signals_.async_wait([this](const boost::system::error_code& error, int signal) {
    if (error) return;
    on_signal(signal);
    wait_for_signal();
  });
}

void Launch::on_signal(int signal) {
  if (signal == SIGCHLD) return reap();
  if (signal == SIGUSR1 || signal == SIGUSR2) return send_all(signal);
  set_status(128 + signal);
  stopped_by_signal_ = true;
  if (stopping_) return send_all(SIGKILL);  // somebody is impatient
  stop(signal);
}

void Launch::reap() {
  for (Rank rank = 0; rank < options_.ranks; ++rank) {
    if (pids_[rank] < 0) continue;
    const auto status = reap_if_ended(pids_[rank]);
    if (!status) continue;
    const pid_t pid = std::exchange(pids_[rank], -1);
    --running_;
    ended(rank, pid, *status);
  }
}

void Launch::ended(Rank rank, pid_t pid, int wait_status) {
  int code = exit_code(wait_status);
  std::string how;
  if (WIFSIGNALED(wait_status)) {
    how = fmt::format("was killed by signal {} ({})", WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)));
  } else if (code != 0) {
    how = fmt::format("exited with status {}", code);
  } else if (server_.is_connected(rank)) {
    how = "exited with status 0 without leaving the job: its Context was not destroyed (PMIx_Finalize was not called)";
    code = 1;
  } else {
    return;
  }
  if (stopping_) return;  // what we have asked for
  say("rank {} (pid {}) {}", rank, pid, how);
  set_status(code);
  if (running_ > 0) server_.announce_death(rank, code);
  if (!options_.keep_going) stop(SIGTERM);
}

void Launch::aborted(Rank rank, int status, const std::string& message) {
  if (!stopping_) say("rank {} called abort({}): {}", rank, status, message);
  set_status((status & 255) != 0 ? status & 255 : 1);
  stop(SIGTERM, rank);  // that one ends by itself, and may still have something to say
}

void Launch::stop(int signal, Rank except) {
  if (stopping_) return;
  stopping_ = true;
  send_all(signal, except);
  kill_timer_.expires_after(kill_after);
  kill_timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    say("{} of {} ranks did not end within {} s: killed", running_, options_.ranks, kill_after.count());
    send_all(SIGKILL);
  });
}

void Launch::send_all(int signal, Rank except) {
  for (Rank rank = 0; rank < options_.ranks; ++rank)
    if (pids_[rank] > 0 && rank != except) signal_child(pids_[rank], signal);
}

}  // namespace

int run_local_ranks(const LaunchOptions& options) {
  check(options);
  forget_outer_job();
  return Launch(options).run();
}

}  // namespace godwit::pmi
