// How ranks find each other before any transport runs. Implementations: pmi/.
#pragma once

#include <godwit/types.hpp>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace godwit::core {

struct JobInfo {
  Rank rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 0;  // ranks that the launcher put on this node; 0 = it does not say
  int node_count = 0;  // 0 = it does not say
  std::string id;      // same on all ranks of the job, different for any other job
  std::string via;     // "PMIx 4.2 (Open MPI)", "torchrun environment", "threads", "nothing (single process)"
};

/// Blocking calls, made by one thread. Every failure throws Error(bootstrap) in words that name the ranks.
class Bootstrap {
 public:
  using FailureHandler = std::function<void(Rank rank, std::string reason)>;

  virtual ~Bootstrap() = default;
  virtual const JobInfo& job() const noexcept = 0;
  /// Publishes this rank's card (at most 256 bytes) and waits until all ranks have done so: the one fence of
  /// the whole job. Called once. Throws after the deadline (GODWIT_STARTUP_TIMEOUT), naming who is missing
  /// where that can be known.
  virtual void exchange(std::span<const std::byte> card) = 0;
  /// Another rank's card. May ask the launcher; the caller keeps it.
  virtual std::vector<std::byte> card(Rank rank) = 0;
  /// Called from another thread when the launcher reports that a rank has died. Not every launcher does.
  virtual void on_failure(FailureHandler handler) = 0;
  /// Asks the launcher to end the job. Returns; the caller exits.
  virtual void abort(int exit_status, std::string_view reason) noexcept = 0;
  /// Orderly leave: no barrier. After it only the destructor is called.
  virtual void finalize() noexcept = 0;
};

}  // namespace godwit::core
