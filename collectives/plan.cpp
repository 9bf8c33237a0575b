#include "collectives/plan.hpp"

#include <unordered_map>
#include <utility>

namespace godwit::collectives {

Plan::Plan(Schedule schedule)
    : schedule_(std::move(schedule)),
      first_successor_(schedule_.steps.size() + 1, 0),
      successors_(schedule_.dependencies.size()),
      next_of_peer_(schedule_.steps.size(), none),
      waits_(schedule_.steps.size(), 0) {
  for (const Step& step : schedule_.steps)
    for (StepIndex dependency : schedule_.dependencies_of(step)) ++first_successor_[dependency + 1];
  for (std::size_t i = 1; i < first_successor_.size(); ++i) first_successor_[i] += first_successor_[i - 1];
  std::vector<StepIndex> fill(first_successor_.begin(), first_successor_.end() - 1);
  std::unordered_map<Rank, StepIndex> last[2];  // of sends, of receives
  for (StepIndex index = 0; index < schedule_.steps.size(); ++index) {
    const Step& step = schedule_.steps[index];
    waits_[index] = step.dependency_count;
    for (StepIndex dependency : schedule_.dependencies_of(step)) successors_[fill[dependency]++] = index;
    if (step.kind != StepKind::send && step.kind != StepKind::recv) continue;
    auto [previous, first] = last[step.kind == StepKind::recv].try_emplace(step.peer, index);
    if (first) continue;
    next_of_peer_[previous->second] = index;
    previous->second = index;
    ++waits_[index];
  }
}

void Frontier::start(const Plan& plan) {
  plan_ = &plan;
  waits_.assign(plan.waits().begin(), plan.waits().end());
  ready_.resize(plan.size());
  head_ = tail_ = completed_ = 0;
  for (StepIndex step = 0; step < plan.size(); ++step)
    if (waits_[step] == 0) ready_[tail_++] = step;
}

bool Frontier::pop(StepIndex& step) {
  if (head_ == tail_) return false;
  step = ready_[head_++];
  if (const StepIndex next = plan_->next_of_peer(step); next != Plan::none) release(next);
  return true;
}

void Frontier::complete(StepIndex step) {
  ++completed_;
  for (StepIndex successor : plan_->successors(step)) release(successor);
}

void Frontier::release(StepIndex step) {
  if (--waits_[step] == 0) ready_[tail_++] = step;
}

}  // namespace godwit::collectives
