// Plan: a schedule with what is needed to run it: who waits for whom. Frontier: which steps may start now.
// The executor and the verifier's walk use the same Frontier, so what is proven is what runs.
#pragma once

#include "collectives/schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace godwit::collectives {

class Plan {
 public:
  static constexpr StepIndex none = UINT32_MAX;

  explicit Plan(Schedule schedule);

  const Schedule& schedule() const noexcept { return schedule_; }
  std::size_t size() const noexcept { return schedule_.steps.size(); }
  const Step& step(StepIndex index) const noexcept { return schedule_.steps[index]; }
  /// Steps that wait for the completion of this one.
  std::span<const StepIndex> successors(StepIndex index) const noexcept {
    return std::span(successors_)
        .subspan(first_successor_[index], first_successor_[index + 1] - first_successor_[index]);
  }
  /// The next send to the same peer (receive from it), which may not start before this one has started.
  StepIndex next_of_peer(StepIndex index) const noexcept { return next_of_peer_[index]; }
  /// How many of both kinds each step waits for at the beginning.
  std::span<const std::uint32_t> waits() const noexcept { return waits_; }

 private:
  Schedule schedule_;
  std::vector<StepIndex> first_successor_, successors_, next_of_peer_;
  std::vector<std::uint32_t> waits_;
};

/// Progress through one plan. Reusable: no allocation once it has seen a plan of this length.
class Frontier {
 public:
  void start(const Plan& plan);
  /// The next step that may start, which then counts as started; false if there is none now.
  bool pop(StepIndex& step);
  void complete(StepIndex step);
  bool done() const noexcept { return completed_ == plan_->size(); }
  /// Steps started and not complete.
  std::size_t running() const noexcept { return head_ - completed_; }
  /// For reports: the step has not started.
  bool waiting(StepIndex step) const noexcept { return waits_[step] != 0; }

 private:
  void release(StepIndex step);

  const Plan* plan_ = nullptr;
  std::vector<std::uint32_t> waits_;
  std::vector<StepIndex> ready_;  // each step enters once
  std::size_t head_ = 0, tail_ = 0, completed_ = 0;
};

}  // namespace godwit::collectives
