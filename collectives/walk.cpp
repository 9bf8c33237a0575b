#include "collectives/walk.hpp"

#include <fmt/format.h>

#include <deque>
#include <random>
#include <unordered_map>
#include <utility>

namespace godwit::collectives {

namespace {

class Walker {
 public:
  Walker(std::span<const Plan> plans, WalkObserver& observer, std::uint32_t seed)
      : plans_(plans), observer_(observer), frontiers_(plans.size()), random_(seed) {}

  std::string run() {
    for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
      frontiers_[rank].start(plans_[rank]);
      awake_.push_back(static_cast<Rank>(rank));
    }
    while (!awake_.empty()) {
      std::swap(awake_[random_() % awake_.size()], awake_.back());
      const Rank rank = awake_.back();
      awake_.pop_back();
      for (StepIndex step = 0; frontier(rank).pop(step);) {
        start(rank, step);
        if (observer_.stop()) return {};
      }
    }
    return stuck();
  }

 private:
  /// Sends without a receive, or receives without a send: one of them is empty.
  struct Channel {
    std::deque<StepIndex> sends, receives;
  };

  Frontier& frontier(Rank rank) { return frontiers_[static_cast<std::size_t>(rank)]; }
  const Step& step_of(Rank rank, StepIndex step) { return plans_[static_cast<std::size_t>(rank)].step(step); }
  Channel& channel(Rank from, Rank to) {
    return channels_[static_cast<std::uint64_t>(from) * plans_.size() + static_cast<std::uint64_t>(to)];
  }

  void start(Rank rank, StepIndex index) {
    const Step& step = step_of(rank, index);
    if (step.kind == StepKind::send) {
      channel(rank, step.peer).sends.push_back(index);
      match(rank, step.peer);
    } else if (step.kind == StepKind::recv) {
      channel(step.peer, rank).receives.push_back(index);
      match(step.peer, rank);
    } else {
      observer_.local(rank, index);
      frontier(rank).complete(index);
    }
  }

  void match(Rank from, Rank to) {
    Channel& c = channel(from, to);
    if (c.sends.empty() || c.receives.empty()) return;
    const StepIndex send = c.sends.front(), recv = c.receives.front();
    c.sends.pop_front();
    c.receives.pop_front();
    observer_.transfer(from, send, to, recv);
    frontier(from).complete(send);
    frontier(to).complete(recv);
    awake_.push_back(from);
    awake_.push_back(to);
  }

  /// The first unfinished steps of the first stuck ranks.
  std::string stuck() {
    std::string text;
    int named = 0;
    for (std::size_t r = 0; r < plans_.size() && named < 4; ++r) {
      if (frontiers_[r].done()) continue;
      ++named;
      text += fmt::format("{}rank {} waits in {}", text.empty() ? "deadlock: " : "; ", r,
                          to_string(plans_[r].step(first_stuck(static_cast<Rank>(r)))));
    }
    return text;
  }

  StepIndex first_stuck(Rank rank) {
    StepIndex first = Plan::none;
    for (const auto& [key, c] : channels_) {
      const auto from = static_cast<Rank>(key / plans_.size()), to = static_cast<Rank>(key % plans_.size());
      if (from == rank && !c.sends.empty()) first = std::min(first, c.sends.front());
      if (to == rank && !c.receives.empty()) first = std::min(first, c.receives.front());
    }
    return first;
  }

  std::span<const Plan> plans_;
  WalkObserver& observer_;
  std::vector<Frontier> frontiers_;
  std::vector<Rank> awake_;  // may have steps to start; a rank may be in it twice
  std::unordered_map<std::uint64_t, Channel> channels_;
  std::minstd_rand random_;
};

}  // namespace

std::string walk(std::span<const Plan> plans, WalkObserver& observer, std::uint32_t seed) {
  return Walker(plans, observer, seed).run();
}

}  // namespace godwit::collectives
