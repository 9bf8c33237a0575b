// Notices of memory that is about to be unmapped, from any thread to the worker.
//
// push() runs inside munmap(): it must not allocate, wait or take a lock. So this is a bounded queue of several
// producers (each slot has a sequence number) that the one consumer reads also behind a slot whose producer was
// interrupted; when it is full, the consumer is told that everything may be unmapped.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace godwit::verbs {

class UnmapQueue {
 public:
  static constexpr std::size_t capacity = 1024;

  UnmapQueue() noexcept {
    for (std::size_t i = 0; i < capacity; ++i) slots_[i].sequence.store(i, std::memory_order_relaxed);
  }
  UnmapQueue(const UnmapQueue&) = delete;
  UnmapQueue& operator=(const UnmapQueue&) = delete;

  /// Any thread, also in a signal handler. Kept only if it touches what is watched.
  void push(std::uintptr_t address, std::size_t bytes) noexcept;

  // The worker's.
  /// From now on notices that touch [begin, end) are kept, too. A thread that unmaps memory must have learnt, by
  /// whatever way, that its transfer is over, and thereby sees this.
  void watch(std::uintptr_t begin, std::uintptr_t end) noexcept;
  void watch_nothing() noexcept;
  /// Something has been pushed since the last drain().
  bool changed() const noexcept { return arrivals_.load(std::memory_order_acquire) != seen_; }
  /// Calls f(begin, end) for each notice whose push() has returned, and perhaps for some that are just being pushed.
  /// False: some were lost; treat everything as unmapped.
  template <class F>
  [[nodiscard]] bool drain(F&& f);

 private:
  struct Slot {
    std::atomic<std::uint64_t> sequence;  // position: free; + 1: filled; + capacity: read, free in the next round
    std::uintptr_t begin = 0, end = 0;
  };

  std::array<Slot, capacity> slots_;
  alignas(64) std::atomic<std::uint64_t> head_{0};
  std::atomic<std::uint64_t> arrivals_{0};
  std::atomic<bool> overflow_{false};
  alignas(64) std::atomic<std::uintptr_t> least_{std::numeric_limits<std::uintptr_t>::max()};
  std::atomic<std::uintptr_t> most_{0};
  std::uint64_t tail_ = 0, seen_ = 0;  // the worker's
};

template <class F>
bool UnmapQueue::drain(F&& f) {
  seen_ = arrivals_.load(std::memory_order_acquire);
  const std::uint64_t head = head_.load(std::memory_order_acquire);
  for (std::uint64_t position = tail_; position != head; ++position) {
    Slot& slot = slots_[position % capacity];
    if (slot.sequence.load(std::memory_order_acquire) != position + 1) continue;  // being filled, or read before
    f(slot.begin, slot.end);
    slot.sequence.store(position + capacity, std::memory_order_release);
  }
  // >=: a slot that was read may have been filled again.
  while (tail_ != head && slots_[tail_ % capacity].sequence.load(std::memory_order_relaxed) >= tail_ + capacity)
    ++tail_;
  return !overflow_.exchange(false, std::memory_order_acquire);
}

}  // namespace godwit::verbs
