// One of the ports in use as the worker polls it. Numbers of queue pairs are unique within an adapter only.
// Threads: the worker's.
#pragma once

#include "verbs/link.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace godwit::verbs {

struct Rail {
  explicit Rail(Adapter& its_adapter) : adapter(its_adapter) {}

  std::uint64_t entries_until_drained() const noexcept {
    return polled + static_cast<std::uint64_t>(adapter.completion_queue()->cqe);
  }
  /// When it was found empty; or when others keep it full, and that much has been polled since that all that was in it
  /// has.
  bool drained(std::uint64_t at) const noexcept { return idle || polled >= at; }
  void forget_pair(std::uint32_t number) {
    pairs.erase(number);
    last_pair = nullptr;
  }

  Adapter& adapter;
  std::unordered_map<std::uint32_t, std::shared_ptr<Link>> pairs;  // by number of our queue pair
  std::shared_ptr<Link>* last_pair = nullptr;                      // found last
  std::uint32_t last_number = 0;
  std::vector<std::pair<Link*, Buffer*>> consumed;  // receives of the last poll, and some of those before
  std::uint64_t polled = 0;                         // entries of the completion queue, ever
  std::array<ibv_wc, 16> entries;
  std::size_t waiting_entries = 0;  // polled while arming, at the front of `entries`
  bool idle = false;                // the last poll found the queue empty
  bool failed = false;              // its queues work no more
};

}  // namespace godwit::verbs
