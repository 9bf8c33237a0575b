// Completion queues: entries, overrun, arming and events.
#include <cerrno>

#include "fake_verbs/world.hpp"

namespace godwit::fake_verbs {

CompletionQueue::CompletionQueue(Context* home, unsigned capacity) : ibv_cq{}, owner(home), entries(capacity) {}

void CompletionQueue::add(const Entry& entry) {
  ProcessState& process = *owner->process;
  if (process.lost_completion != 0 && --process.lost_completion == 0) return;
  if (process.late) {
    process.waiting.emplace_back(this, entry);
  } else {
    append(entry);
  }
}

void CompletionQueue::append(const Entry& entry) {
  if (failed) return;
  if (written - read == entries.size()) {
    owner->process->world->defect(owner->process->name + ": a completion queue of " + std::to_string(entries.size()) +
                                  " entries overran");
    fail();
    return;
  }
  entries[written++ % entries.size()] = entry;
  ++owner->process->counters.completions;
  if (armed == Armed::no) return;
  const bool wakes = armed == Armed::all || entry.solicited || entry.completion.status != IBV_WC_SUCCESS;
  if (!wakes || channel == nullptr) return;
  armed = Armed::no;
  ++owner->process->counters.events;
  static_cast<Channel*>(channel)->events.push(this);
}

void CompletionQueue::fail() {
  failed = true;
  raise(*this, IBV_EVENT_CQ_ERR);
  ProcessState& process = *owner->process;
  for (const auto& [key, pair] : process.queue_pairs) {
    const bool ours = pair->sends == this || pair->receptions == this;
    if (!ours || pair->condition == IBV_QPS_ERR || pair->condition == IBV_QPS_RESET) continue;
    raise(*pair, IBV_EVENT_QP_FATAL);
    enter_error(*process.world, *pair);
  }
}

int CompletionQueue::take(int most, ibv_wc* completions) {
  int taken = 0;
  for (; taken < most && read < written; ++taken, ++read) {
    const Entry& entry = entries[read % entries.size()];
    completions[taken] = entry.completion;
    if (entry.receive != nullptr) {
      ++entry.receive->freed;
    } else if (entry.send_end > entry.pair->freed) {
      entry.pair->freed = entry.send_end;
    }
  }
  return taken;
}

void CompletionQueue::forget(const QueuePair& pair) {
  std::uint64_t kept = read;
  for (std::uint64_t i = read; i < written; ++i) {
    const Entry entry = entries[i % entries.size()];
    if (entry.pair != &pair) {
      entries[kept++ % entries.size()] = entry;
    } else if (entry.receive != nullptr) {
      ++entry.receive->freed;
    }
  }
  written = kept;
  auto& waiting = owner->process->waiting;
  for (const auto& [queue, entry] : waiting) {
    if (queue == this && entry.pair == &pair && entry.receive != nullptr) ++entry.receive->freed;
  }
  std::erase_if(waiting, [&](const auto& late) { return late.first == this && late.second.pair == &pair; });
}

void ProcessState::release_completions() {
  late = false;
  auto released = std::move(waiting);
  waiting.clear();
  for (const auto& [queue, entry] : released) queue->append(entry);
}

int poll_cq(ibv_cq* queue, int most, ibv_wc* completions) noexcept {
  auto& cq = static_cast<CompletionQueue&>(*queue);
  ProcessState& process = *cq.owner->process;
  const std::lock_guard lock(process.world->mutex);
  if (const int error = process.count(Call::poll_cq)) return -error;
  if (process.dead) return 0;
  return cq.take(most, completions);
}

int req_notify_cq(ibv_cq* queue, int solicited_only) noexcept {
  auto& cq = static_cast<CompletionQueue&>(*queue);
  ProcessState& process = *cq.owner->process;
  const std::lock_guard lock(process.world->mutex);
  if (const int error = process.count(Call::req_notify_cq)) return error;
  if (cq.channel == nullptr) {
    process.world->defect(process.name + ": notification of a completion queue without channel");
    return EINVAL;
  }
  if (solicited_only == 0) {
    cq.armed = CompletionQueue::Armed::all;
  } else if (cq.armed == CompletionQueue::Armed::no) {
    cq.armed = CompletionQueue::Armed::solicited;
  }
  return 0;
}

}  // namespace godwit::fake_verbs
