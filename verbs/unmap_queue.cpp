#include "verbs/unmap_queue.hpp"

#include <algorithm>

namespace godwit::verbs {

void UnmapQueue::push(std::uintptr_t address, std::size_t bytes) noexcept {
  constexpr auto last = std::numeric_limits<std::uintptr_t>::max();
  const std::uintptr_t end = bytes > last - address ? last : address + bytes;
  if (address >= most_.load(std::memory_order_relaxed) || end <= least_.load(std::memory_order_relaxed)) return;
  std::uint64_t position = head_.load(std::memory_order_relaxed);
  for (;;) {
    Slot& slot = slots_[position % capacity];
    const auto lead = static_cast<std::int64_t>(slot.sequence.load(std::memory_order_acquire) - position);
    if (lead < 0) {
      overflow_.store(true, std::memory_order_release);
      break;
    }
    if (lead > 0) {  // somebody else has it
      position = head_.load(std::memory_order_relaxed);
    } else if (head_.compare_exchange_weak(position, position + 1, std::memory_order_acq_rel,
                                           std::memory_order_relaxed)) {
      slot.begin = address;
      slot.end = end;
      slot.sequence.store(position + 1, std::memory_order_release);
      break;
    }
  }
  arrivals_.fetch_add(1, std::memory_order_release);
}

void UnmapQueue::watch(std::uintptr_t begin, std::uintptr_t end) noexcept {
  if (begin < least_.load(std::memory_order_relaxed)) least_.store(begin, std::memory_order_relaxed);
  if (end > most_.load(std::memory_order_relaxed)) most_.store(end, std::memory_order_relaxed);
}

void UnmapQueue::watch_nothing() noexcept {
  least_.store(std::numeric_limits<std::uintptr_t>::max(), std::memory_order_relaxed);
  most_.store(0, std::memory_order_relaxed);
}

}  // namespace godwit::verbs
