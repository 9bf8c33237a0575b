// Ranks as threads of one process, for tests: no launcher, no sockets.
#pragma once

#include "core/bootstrap.hpp"

#include <memory>
#include <string>

namespace godwit::pmi {

/// One job. Every rank's thread calls join() once; what it gets may outlive the ThreadJob.
class ThreadJob {
 public:
  /// `deadline_s`: how long exchange() waits for the other ranks.
  explicit ThreadJob(int size, double deadline_s = 60);
  ~ThreadJob();
  std::unique_ptr<core::Bootstrap> join(Rank rank);
  /// What a launcher does when a rank has died: exchange() of the others throws, on_failure handlers run (in
  /// this thread).
  void report_death(Rank rank, const std::string& reason);

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace godwit::pmi
