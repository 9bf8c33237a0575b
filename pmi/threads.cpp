#include "pmi/threads.hpp"

#include "pmi/failures.hpp"
#include "pmi/rank_list.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <optional>

#include <unistd.h>

namespace godwit::pmi {

struct ThreadJob::State {
  State(int ranks, double deadline) : size(ranks), deadline_s(deadline), cards(ranks), joined(ranks), failures(ranks) {
    static std::atomic<int> counter{0};
    id = fmt::format("threads.{}.{}", getpid(), counter++);
  }

  std::vector<Rank> missing() const {
    std::vector<Rank> ranks;
    for (Rank rank = 0; rank < size; ++rank)
      if (!cards[rank]) ranks.push_back(rank);
    return ranks;
  }

  const int size;
  const double deadline_s;
  std::string id;
  std::mutex mutex;  // guards what follows, except the reports, which have their own
  std::condition_variable changed;
  std::vector<std::optional<std::vector<std::byte>>> cards;
  std::vector<bool> joined;
  std::optional<std::string> broken;  // why the exchange can no longer succeed
  std::vector<FailureReports> failures;

  void report_death(Rank dead, const std::string& reason) {
    {
      const std::lock_guard lock(mutex);
      broken = fmt::format("rank {}: {}", dead, reason);
      changed.notify_all();
    }
    for (Rank rank = 0; rank < size; ++rank)
      if (rank != dead) failures[rank].report(dead, reason);
  }
};

namespace {

class ThreadBootstrap final : public core::Bootstrap {
 public:
  ThreadBootstrap(std::shared_ptr<ThreadJob::State> state, Rank rank) : state_(std::move(state)) {
    job_ = {.rank = rank,
            .size = state_->size,
            .local_rank = rank,
            .local_size = state_->size,
            .node_count = 1,
            .id = state_->id,
            .via = "threads"};
  }
  ~ThreadBootstrap() override { ThreadBootstrap::finalize(); }

  const core::JobInfo& job() const noexcept override { return job_; }

  void exchange(std::span<const std::byte> card) override {
    std::unique_lock lock(state_->mutex);
    state_->cards[job_.rank].emplace(card.begin(), card.end());
    state_->changed.notify_all();
    const bool decided = state_->changed.wait_for(lock, std::chrono::duration<double>(state_->deadline_s),
                                                  [&] { return state_->broken || state_->missing().empty(); });
    if (state_->missing().empty()) return;  // whatever has happened since is for on_failure
    if (!decided) {
      state_->broken = fmt::format("{} did not come within {} s", rank_list(state_->missing()), state_->deadline_s);
      state_->changed.notify_all();
    }
    throw Error(ErrorCode::bootstrap, fmt::format("start-up of {} ranks as threads failed at rank {}: {}", job_.size,
                                                  job_.rank, *state_->broken));
  }

  std::vector<std::byte> card(Rank rank) override {
    const std::lock_guard lock(state_->mutex);
    if (rank < 0 || rank >= job_.size || !state_->cards[rank])
      throw Error(ErrorCode::bootstrap, fmt::format("rank {} of {} has no card", rank, job_.size));
    return *state_->cards[rank];
  }

  void on_failure(FailureHandler handler) override { state_->failures[job_.rank].set_handler(std::move(handler)); }
  void abort(int exit_status, std::string_view reason) noexcept override {
    state_->report_death(job_.rank, fmt::format("called abort({}): {}", exit_status, reason));
  }
  void finalize() noexcept override { state_->failures[job_.rank].stop(); }

 private:
  std::shared_ptr<ThreadJob::State> state_;
  core::JobInfo job_;
};

}  // namespace

ThreadJob::ThreadJob(int size, double deadline_s) {
  if (size < 1) throw Error(ErrorCode::invalid_argument, fmt::format("a job of {} ranks", size));
  state_ = std::make_shared<State>(size, deadline_s);
}
ThreadJob::~ThreadJob() = default;

std::unique_ptr<core::Bootstrap> ThreadJob::join(Rank rank) {
  const std::lock_guard lock(state_->mutex);
  if (rank < 0 || rank >= state_->size || state_->joined[rank]) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("rank {} cannot join a job of {} threads: {}", rank, state_->size,
                            rank >= 0 && rank < state_->size ? "it has joined already" : "there is no such rank"));
  }
  state_->joined[rank] = true;
  return std::make_unique<ThreadBootstrap>(state_, rank);
}

void ThreadJob::report_death(Rank rank, const std::string& reason) { state_->report_death(rank, reason); }

}  // namespace godwit::pmi
