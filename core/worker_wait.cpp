// Waiting: spin, yield, sleep; say so when it takes long. In ThreadMode::multiple one waiter (the leader) runs the
// progress loop, the others sleep on a condition variable until something is done or the leader leaves.
#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>

#include "core/raised.hpp"
#include "core/worker.hpp"

namespace godwit::core {

namespace {

// Also the longest time that a sleeper does not look at its clock.
constexpr int sleep_ms = 100;
// After this long a wait looks whether those it waits for are alive, and again each second.
constexpr std::int64_t watch_after_ms = 200;
constexpr std::int64_t watch_period_ms = 1000;

}  // namespace

void Worker::wake() noexcept {
  const std::uint64_t one = 1;
  // Fails only when the counter is full: then it is readable already.
  [[maybe_unused]] const auto written = ::write(wake_fd_, &one, sizeof one);
  handed_over_.notify_all();
}

// For those who wait in other threads; called under the lock.
void Worker::wake_others() noexcept {
  if (sleeping_) return wake();
  handed_over_.notify_all();
}

void Worker::request_report() noexcept {
  report_requested_.store(true, std::memory_order_relaxed);
  notified_.store(true, std::memory_order_release);
  wake();
}

void Worker::wait(Operation& operation) {
  Lock held = lock();
  wait(operation, held);
}

void Worker::wait(Operation& operation, Lock& held) {
  if (operation.done()) return;
  // Often one pass is enough; with several threads, and in handlers, there is more to look at before.
  if (mode_ == ThreadMode::single && !in_handler_) [[likely]] {
    progress();
    if (operation.done()) return;
  }
  wait_under(
      held, [&] { return operation.done(); }, [this, &operation] { return describe(operation); });
}

void Worker::wait_until(FunctionRef<bool()> ready, Words what) {
  Lock held = lock();
  wait_under(held, ready, what);
}

template <class Ready>
void Worker::wait_under(Lock& held, const Ready& ready, Words what) {
  if (in_handler_ && handler_thread_ == std::this_thread::get_id())
    throw Error(ErrorCode::invalid_argument,
                "an active message handler must not wait: let it start operations and return");
  WaitLadder ladder(wait_policy_);
  const std::int64_t since_ms = services_.clock.now_ms();
  std::int64_t warned_ms = since_ms;
  while (!ready()) {  // asked once a pass: to be ready may take something
    if (leader_) [[unlikely]] {
      ++followers_;
      if (sleeping_) wake();  // what this thread has started may be done already, where only a poll sees it
      handed_over_.wait_for(held, std::chrono::milliseconds(sleep_ms));
      --followers_;
      warn_if_stalled(since_ms, warned_ms, what);
      continue;
    }
    const Raised leading(leader_);
    if (progress() > 0) {
      ladder.reset();
    } else if (services_.clock.now_ms() - since_ms < watch_after_ms && ladder.spin()) [[likely]] {
      if (relaxes_) relax();
    } else {
      pause(ladder, since_ms, warned_ms, what, held);
    }
    while (mode_ == ThreadMode::multiple && contenders_.load(std::memory_order_relaxed) > 0) {
      held.unlock();
      ::sched_yield();
      held.lock();
    }
  }
  if (followers_ > 0) handed_over_.notify_all();
}

void Worker::look_after_sources() {
  const std::int64_t now = services_.clock.now_ms();
  if (now - watched_ms_ < watch_period_ms) return;
  watched_ms_ = now;
  if (matcher_.posted_count() == 0) return;
  watch_sources();
  tell_sources(watch_after_ms);
}

bool Worker::pause(WaitLadder& ladder, std::int64_t since_ms, std::int64_t& warned_ms, Words what, Lock& held) {
  if (services_.clock.now_ms() - since_ms >= watch_after_ms) look_after_sources();
  warn_if_stalled(since_ms, warned_ms, what);
  const WaitLadder::Step step = ladder.next();
  if (step == WaitLadder::Step::spin) {
    if (relaxes_) relax();
    return false;
  }
  if (step == WaitLadder::Step::sleep && streams_.empty() && blocked_.empty() && deferred_.empty()) {
    sleep(held);
    return true;
  }
  if (held.owns_lock()) held.unlock();
  ::sched_yield();
  if (mode_ == ThreadMode::multiple) held.lock();
  return false;
}

void Worker::warn_if_stalled(std::int64_t since_ms, std::int64_t& warned_ms, Words what) {
  const double limit = options_.stall_warning->value;
  const std::int64_t now = services_.clock.now_ms();
  if (limit <= 0 || static_cast<double>(now - warned_ms) < 1000 * limit) return;
  warned_ms = now;
  services_.log.warn("has waited {:.1f} s: {}", 1e-3 * static_cast<double>(now - since_ms), what());
}

bool Worker::try_yield() noexcept {
  if (mode_ == ThreadMode::multiple) return false;
  ::sched_yield();
  return true;
}

bool Worker::arm_pollers() noexcept {
  return std::all_of(pollers_.begin(), pollers_.end(), [](Poller* poller) { return poller->arm(); });
}

void Worker::sleep(Lock& held) {
  std::size_t armed = 0;
  while (armed < transports_.size() && transports_[armed]->arm()) ++armed;
  if (armed == transports_.size() && !notified_.load(std::memory_order_acquire) && arm_pollers()) {
    sleeping_ = true;
    if (held.owns_lock()) held.unlock();
    epoll_event event{};
    ::epoll_wait(epoll_fd_, &event, 1, sleep_ms);
    if (mode_ == ThreadMode::multiple) held.lock();
    sleeping_ = false;
    std::uint64_t count = 0;
    [[maybe_unused]] const auto drained = ::read(wake_fd_, &count, sizeof count);  // empty when it was not us
  }
  for (std::size_t i = 0; i < armed; ++i) transports_[i]->disarm();
}

// --- one-sided -------------------------------------------------------------------------------------------------

namespace {

const Protocol flush_protocol{"flush",
                              Operation::Kind::flush,
                              false,
                              false,
                              "",
                              nullptr,
                              nullptr,
                              nullptr,
                              [](Worker& worker, Operation& operation, ErrorCode status, std::string_view detail) {
                                --operation.in_flight;
                                if (status != ErrorCode::ok)
                                  return worker.complete(operation, status, std::string(detail));
                                worker.complete(operation);
                              }};

}  // namespace

Operation& Worker::post_flush(Peer& to) {
  Operation& operation = new_operation(Operation::Kind::flush, nullptr);
  operation.peer = &to;
  operation.protocol = &flush_protocol;
  operation.state = Operation::State::moving;
  submit_flush(to, operation);
  return operation;
}

void Worker::submit_flush(Peer& to, Operation& operation) {
  WorkRequest request;
  request.op = Op::flush;
  request.cookie = operation.id;
  ++operation.in_flight;
  submit(to, request);
}

Status Worker::flush(Rank target) {
  Lock held = lock();
  Peer* const to = find_peer(target);
  if (to == nullptr) return {};
  Peer* const second = two_ways_ ? find_adapter_peer(target) : nullptr;
  wait_under(
      held, [to, second] { return all_visible(*to) && (second == nullptr || all_visible(*second)); },
      [this, to, second] {
        return fmt::format("flush: {} puts and atomics to {} are not visible there yet",
                           to->rma_outstanding + (second == nullptr ? 0 : second->rma_outstanding), name_of(to->rank));
      });
  const Capabilities& wire = to->capabilities;
  if (to->state == Peer::State::ready && (wire.put_done == PutDone::local || wire.early_put)) {
    Operation& operation = post_flush(*to);
    wait(operation, held);
    if (operation.status == ErrorCode::ok) [[likely]] {
      release(operation);
      return {};
    }
    Status status(operation.status, operation.detail);
    release(operation);
    return status;
  }
  if (to->state == Peer::State::lost && to->lost_status != ErrorCode::ok) return {to->lost_status, lost_words(*to)};
  return {};
}

Status Worker::fence(Rank target) {
  {
    // What is posted takes effect in order; what is not, and what the target's CPU executes, can be overtaken.
    const Lock held = lock();
    const Peer* to = find_peer(target);
    if (to == nullptr) return {};
    // Over two ways nothing is in order.
    const Peer* second = two_ways_ ? find_adapter_peer(target) : nullptr;
    const bool may_part = two_ways_ && to->capabilities.atomics != AtomicsDomain::adapter;
    const std::uint64_t open = may_part ? to->rma_outstanding : to->emulated_outstanding;
    if (open == 0 && to->unposted == 0 && to->waiting.empty() && to->held.empty() &&
        (second == nullptr || all_visible(*second)))
      return {};
  }
  return flush(target);
}

void Worker::shutdown(std::chrono::milliseconds deadline) noexcept {
  const auto end = std::chrono::steady_clock::now() + deadline;
  while ((!blocked_.empty() || !streams_.empty()) && std::chrono::steady_clock::now() < end) {
    if (progress() == 0) ::sched_yield();
  }
  if (!blocked_.empty() || !streams_.empty())
    services_.log.warn("leaves with messages that their receivers did not take: {}", describe_all());
  for (const auto& transport : transports_) transport->shutdown();
  has_left_ = true;
  release_taken_back(nullptr);
  // Nothing of what is still pending can be done any more, and nothing new be started.
  const std::string words = fmt::format("{} has left the job", name_of(job_.rank));
  for (const auto& [context, group] : groups_) break_group(*group, ErrorCode::cancelled, words);
  while (!active_.empty()) {
    Operation& operation = active_.front();
    operation.in_flight = 0;
    finish(operation, operation.failing ? operation.status : ErrorCode::cancelled, words);
  }
  const std::vector<Poller*> pollers = std::exchange(pollers_, {});
  for (Poller* poller : pollers) poller->stop();
}

}  // namespace godwit::core
