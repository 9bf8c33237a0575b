// Context: one process's membership of the job. Opens the bootstrap and the transports.
#pragma once

#include <godwit/communicator.hpp>

#include <map>
#include <memory>
#include <string>

namespace godwit {

namespace detail {
struct ContextState;
}

struct ContextOptions {
  ThreadMode threads = ThreadMode::single;
  /// Options by name without prefix ("EAGER_LIMIT"), stronger than the environment.
  std::map<std::string, std::string> set;
};

class Context {
 public:
  /// Joins the job: PMIx if its environment is there, then torchrun's variables, else a job of one.
  /// Throws Error(bootstrap) that says what is missing, Error(invalid_argument) for a bad option.
  explicit Context(ContextOptions options = {});
  /// Takes a ready-made state (ranks as threads, tests).
  explicit Context(std::shared_ptr<detail::ContextState> state) : state_(std::move(state)) {}
  Context(Context&&) noexcept = default;
  Context& operator=(Context&&) noexcept;
  /// Leaves the job: sends what is still queued, says good-bye to the peers, finalizes the bootstrap.
  ~Context();

  /// All ranks of the job.
  Communicator world() const;
  Rank rank() const;
  int size() const;
  /// "godwit 0.1: 4 ranks on 1 host via PMIx 4.2 (Open MPI)"
  std::string banner() const;
  /// One pass of progress on every worker; for programs that compute for long with operations pending.
  void progress();
  /// Ends the whole job with this status (1..255): tells the launcher, then exits this process.
  [[noreturn]] void abort(int exit_status, std::string_view reason);

  detail::ContextState* state() const noexcept { return state_.get(); }

 private:
  std::shared_ptr<detail::ContextState> state_;
};

}  // namespace godwit
