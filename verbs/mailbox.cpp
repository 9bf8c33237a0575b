#include "verbs/mailbox.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

namespace godwit::verbs {

Mailbox::Mailbox() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_) throw Error(ErrorCode::no_memory, "cannot make an event descriptor; see `ulimit -n`");
}

void Mailbox::push(Event event) {
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
  pending_.store(true, std::memory_order_release);
  const std::uint64_t one = 1;
  // Fails only when the counter is full: then it is readable already.
  [[maybe_unused]] const auto written = ::write(event_.get(), &one, sizeof one);
}

std::vector<Event> Mailbox::take() noexcept {
  const std::lock_guard lock(mutex_);
  pending_.store(false, std::memory_order_relaxed);
  std::uint64_t count = 0;
  [[maybe_unused]] const auto read = ::read(event_.get(), &count, sizeof count);
  return std::exchange(events_, {});
}

}  // namespace godwit::verbs
