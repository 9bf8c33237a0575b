// Events behind a real descriptor: readable while one waits. push() under the fabric's lock; pop() without it.
#pragma once

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <deque>
#include <mutex>
#include <stdexcept>

namespace godwit::fake_verbs {

template <class Event>
class EventQueue {
 public:
  EventQueue() : descriptor_(eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC)) {
    if (descriptor_ < 0) throw std::runtime_error("eventfd failed");
  }
  ~EventQueue() { close(descriptor_); }
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  int descriptor() const noexcept { return descriptor_; }

  void push(const Event& event) {
    events_.push_back(event);
    const std::uint64_t one = 1;
    if (write(descriptor_, &one, sizeof one) != sizeof one) throw std::runtime_error("write to an eventfd failed");
  }

  /// Waits unless the descriptor is O_NONBLOCK; false: errno says why. `taken` is called under the lock.
  template <class Taken>
  bool pop(std::mutex& mutex, Event& event, Taken taken) {
    std::uint64_t one = 0;
    if (read(descriptor_, &one, sizeof one) != sizeof one) return false;
    const std::lock_guard lock(mutex);
    if (events_.empty()) {  // dropped meanwhile
      errno = EAGAIN;
      return false;
    }
    event = events_.front();
    events_.pop_front();
    taken(event);
    return true;
  }

  /// Forgets events for which `is` holds: their object is destroyed.
  template <class Predicate>
  void drop(Predicate is) {
    for (auto event = events_.begin(); event != events_.end();) {
      if (!is(*event)) {
        ++event;
        continue;
      }
      event = events_.erase(event);
      std::uint64_t one = 0;
      // Where a reader was faster it finds the queue empty.
      if (poll_readable() && read(descriptor_, &one, sizeof one) != sizeof one) return;
    }
  }

 private:
  bool poll_readable() const {
    pollfd readable{descriptor_, POLLIN, 0};
    return poll(&readable, 1, 0) == 1;
  }

  int descriptor_;
  std::deque<Event> events_;  // fabric's lock
};

}  // namespace godwit::fake_verbs
