// The shared page of a communicator's collectives by flags. All of it is zero in the beginning; a rank writes only what
// is its own.
//
// Turns: collectives by flags are counted from 1; all ranks count alike. In turn t a rank stores its contribution into
// its slot t % 2, the header last, and then reads slot t % 2 of all ranks. It may store: whoever has begun turn t has
// seen all headers of turn t - 1, and a rank stores that only when it has read all of turn t - 2.
//
// Lines: the slots of two ranks are in one cache line, so that who comes later gets the other's contribution with the
// line that it writes (2 ranks, with 60 ns between calls: 80 ns for one call, 150 ns when each has a line). What does
// not fit into the slot is in a line of its own. The next line that we write is fetched at the end of a call.
//
// Sleeping: a rank that is going to sleep in turn t says so beside its header, fences everybody, and looks at the
// headers once more: it sees each header that is missing, or the rank that stores that header later reads the word
// after its store. Whoever has all headers wakes those whose word says t. Threads: each rank's worker.
#pragma once

#include "collectives/direct.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace godwit::collectives {

struct alignas(32) FlagSlot {
  std::uint64_t header = 0;
  std::uint32_t asleep = 0;  // a turn
  std::uint32_t reserved = 0;
  std::byte payload[16] = {};
};

/// Of two ranks; twice as long as a cache line, because adapters and prefetchers take lines in pairs.
struct alignas(128) FlagLine {
  FlagSlot slots[2];
};

/// What only one rank writes.
struct alignas(64) FlagBlock {
  std::byte payload[2][flag_payload] = {};  // of turn t at [t % 2], if it is longer than a slot's
  /// The last calls that went by schedules: number + 1 at [number % 8], so that who waits for flags learns of them.
  std::uint64_t scheduled[8] = {};
};

class FlagPage {
 public:
  FlagPage() = default;
  FlagPage(std::shared_ptr<std::byte> memory, int ranks) noexcept
      : memory_(std::move(memory)),
        lines_(reinterpret_cast<FlagLine*>(memory_.get())),
        blocks_(reinterpret_cast<FlagBlock*>(lines_ + 2 * pairs(ranks))),
        pairs_(pairs(ranks)) {}

  static constexpr std::size_t bytes(int ranks) noexcept {
    return 2 * pairs(ranks) * sizeof(FlagLine) + static_cast<std::size_t>(ranks) * sizeof(FlagBlock);
  }

  FlagSlot& slot(int rank, std::uint32_t turn) const noexcept {
    const auto index = static_cast<unsigned>(rank);
    return lines_[(turn % 2) * pairs_ + index / 2].slots[index % 2];
  }
  /// Where a contribution of `bytes` is.
  std::byte* payload(int rank, std::uint32_t turn, std::size_t bytes) const noexcept {
    return bytes <= sizeof(FlagSlot::payload) ? slot(rank, turn).payload : blocks_[rank].payload[turn % 2];
  }
  std::uint64_t& scheduled(int rank, std::uint64_t sequence) const noexcept {
    return blocks_[rank].scheduled[sequence % 8];
  }

  /// Equal on all ranks that make the same call in the same turn. Never 0.
  static constexpr std::uint64_t header(std::uint32_t turn, std::uint64_t sequence, std::uint32_t signature) noexcept {
    return static_cast<std::uint64_t>(turn & 0xffffU) << 48 | (sequence & 0xffffU) << 32 | signature;
  }
  static constexpr bool same_turn(std::uint64_t header, std::uint64_t other) noexcept {
    return header >> 48 == other >> 48;
  }

  static std::uint64_t load(std::uint64_t& word) noexcept {
    return std::atomic_ref(word).load(std::memory_order_acquire);
  }
  static void store(std::uint64_t& word, std::uint64_t value) noexcept {
    std::atomic_ref(word).store(value, std::memory_order_release);
  }

 private:
  static constexpr std::size_t pairs(int ranks) noexcept { return (static_cast<std::size_t>(ranks) + 1) / 2; }

  std::shared_ptr<std::byte> memory_;
  FlagLine* lines_ = nullptr;
  FlagBlock* blocks_ = nullptr;
  std::size_t pairs_ = 0;
};

}  // namespace godwit::collectives
