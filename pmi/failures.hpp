// Deaths on their way from whoever notices them to Bootstrap::on_failure. Any thread.
#pragma once

#include "core/bootstrap.hpp"

#include <map>
#include <mutex>
#include <string>

namespace godwit::pmi {

/// Passes each rank's first death on, once. Deaths reported before there is a handler wait for it. The handler
/// runs under the lock, so that none runs after stop() has returned: it must not call the bootstrap.
class FailureReports {
 public:
  /// Also delivers what was reported before, from within this call. An empty handler removes the one before, and
  /// when this returns that one does not run any more.
  void set_handler(core::Bootstrap::FailureHandler handler) {
    const std::lock_guard lock(mutex_);
    handler_ = std::move(handler);
    if (!handler_) return;
    for (const auto& [rank, reason] : known_) handler_(rank, reason);
  }
  void report(Rank rank, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (stopped_ || !known_.emplace(rank, reason).second) return;
    if (handler_) handler_(rank, reason);
  }
  void stop() noexcept {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    handler_ = nullptr;
  }

 private:
  std::mutex mutex_;
  core::Bootstrap::FailureHandler handler_;
  std::map<Rank, std::string> known_;
  bool stopped_ = false;
};

}  // namespace godwit::pmi
