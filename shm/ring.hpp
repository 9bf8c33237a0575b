// One direction of a connected pair: a single-producer single-consumer ring of 64-byte slots in shared memory.
// An entry is a header word and bytes, contiguous over as many slots as it needs; a `skip` entry ends a lap early
// when the next entry would not be contiguous. The header word is stored last (release), so that a small message is
// one cache line that travels once: no index is shared, and no read-modify-write or fence is on the way.
//
// Invariant: the word where the writer will store its next header never looks like a header of the present lap.
// Headers of earlier laps do not, and where payload has been (`dirty`) the writer clears the word before it
// publishes the entry in front of it. For that the slot after an entry must be free too.
//
// Threads: a RingWriter belongs to one thread, a RingReader to one.
#pragma once

#include "core/copy.hpp"
#include "core/wait_ladder.hpp"
#include "core/wire.hpp"
#include "shm/layout.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <span>
#include <vector>

namespace godwit::shm {

/// Where a ring lies; `bytes` is a power of two.
struct RingPlace {
  std::byte* slots = nullptr;
  std::size_t bytes = 0;
  std::uint64_t* consumed = nullptr;
};

inline std::atomic_ref<std::uint64_t> header_word(std::byte* slot) noexcept {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(slot));
}

class RingWriter {
 public:
  RingWriter() noexcept = default;
  explicit RingWriter(const RingPlace& place)
      : slots_(place.slots),
        consumed_(place.consumed),
        count_(place.bytes / slot_bytes),
        shift_(std::countr_zero(count_)),
        limit_(count_),
        dirty_(count_ / slots_per_word + 1, 0) {}

  /// False: no room now, nothing was written.
  bool send(const core::WireHeader& header, std::span<const std::byte> payload) noexcept {
    const std::size_t bytes = sizeof(header) + payload.size();
    std::byte* entry = reserve(slots_for(bytes));
    if (entry == nullptr) return false;
    // The line that the reader is looking at comes last: whatever it sees of it half written it takes away from us.
    std::span<const std::byte> first = payload;
    if (payload.size() > in_first_slot) {
      claim_lines(entry, slots_for(bytes) + 1);
      first = payload.first(in_first_slot);
      core::copy_bytes(entry + slot_bytes, payload.subspan(in_first_slot));
    }
    publish(EntryKind::message, bytes, [&] {
      std::memcpy(entry + header_bytes, &header, sizeof(header));
      core::copy_bytes(entry + slot_bytes - in_first_slot, first);
    });
    return true;
  }
  bool notify(std::uint32_t imm) noexcept {
    std::byte* entry = reserve(1);
    if (entry == nullptr) return false;
    publish(EntryKind::notify, sizeof(imm), [&] { std::memcpy(entry + header_bytes, &imm, sizeof(imm)); });
    return true;
  }
  /// Whether notify() would succeed.
  bool has_room() noexcept { return has_room(1); }

 private:
  // One slot more than asked for stays free: see the invariant.
  bool has_room(std::size_t slots) noexcept {
    if (tail_ + slots + 1 <= limit_) [[likely]]
      return true;
    limit_ = std::atomic_ref(*consumed_).load(std::memory_order_acquire) + count_;
    return tail_ + slots + 1 <= limit_;
  }
  std::size_t index() const noexcept { return tail_ & (count_ - 1); }
  std::uint64_t lap() const noexcept { return (tail_ >> shift_) + 1; }

  std::byte* reserve(std::size_t slots) noexcept {
    const std::size_t left = count_ - index();
    if (slots > left) [[unlikely]] {
      if (!has_room(left + slots)) return nullptr;
      skip(left);
    } else if (!has_room(slots)) {
      return nullptr;
    }
    return slots_ + index() * slot_bytes;
  }
  void skip(std::size_t left) noexcept {
    const std::uint64_t header = pack_header(lap(), EntryKind::skip, 0);
    std::byte* slot = slots_ + index() * slot_bytes;
    tail_ += left;
    clean_tail();
    header_word(slot).store(header, std::memory_order_release);
  }
  // `fill` writes the first slot behind its header.
  template <class Fill>
  void publish(EntryKind kind, std::size_t bytes, const Fill& fill) noexcept {
    const std::size_t slots = slots_for(bytes);
    const std::uint64_t header = pack_header(lap(), kind, bytes);
    std::byte* entry = slots_ + index() * slot_bytes;
    if (slots > 1) mark_dirty(index() + 1, slots - 1);
    tail_ += slots;
    clean_tail();
    fill();
    header_word(entry).store(header, std::memory_order_release);
    claim_lines(slots_ + ((tail_ + claimed_ahead) & (count_ - 1)) * slot_bytes, 1);
  }
  void clean_tail() noexcept {
    std::uint64_t& word = dirty_[index() / slots_per_word];
    const std::uint64_t bit = std::uint64_t{1} << (index() % slots_per_word);
    if ((word & bit) == 0) [[likely]]
      return;
    word &= ~bit;
    header_word(slots_ + index() * slot_bytes).store(0, std::memory_order_relaxed);
  }
  // The lines come from the reader's cache, all at once when they are asked for before the stores, which wait for one
  // line after the other.
  static void claim_lines(std::byte* from, std::size_t lines) noexcept {
    for (std::size_t i = 0; i < std::min(lines, claimed_lines); ++i) core::expect_write(from + i * slot_bytes);
  }
  static constexpr std::size_t claimed_lines = 64;
  static constexpr std::size_t claimed_ahead = 8;  // in a stream of small messages

  // A bitmap, because what is read back soon must have been stored in one piece: a memset of bytes may be a masked
  // store, and a load behind it waits until all stores before it have reached the peer's lines.
  void mark_dirty(std::size_t first, std::size_t slots) noexcept {
    while (slots > 0) {
      const std::size_t from = first % slots_per_word;
      const std::size_t here = std::min(slots, slots_per_word - from);
      dirty_[first / slots_per_word] |= (~std::uint64_t{0} >> (slots_per_word - here)) << from;
      first += here;
      slots -= here;
    }
  }

  static constexpr std::size_t in_first_slot = slot_bytes - header_bytes - sizeof(core::WireHeader);  // of a payload
  static constexpr std::size_t slots_per_word = 64;

  std::byte* slots_ = nullptr;
  std::uint64_t* consumed_ = nullptr;
  std::size_t count_ = 1;             // slots in the ring: a power of two
  int shift_ = 0;                     // its logarithm: a division would take as long as the whole rest
  std::uint64_t tail_ = 0;            // slots written since the start
  std::uint64_t limit_ = 0;           // tail may go up to here, as far as we know
  std::vector<std::uint64_t> dirty_;  // bit of a slot: its first word holds payload, not a header
};

class RingReader {
 public:
  struct Entry {
    EntryKind kind = EntryKind::skip;
    std::span<std::byte> bytes;
  };

  RingReader() noexcept = default;
  explicit RingReader(const RingPlace& place)
      : word_(place.slots),
        slots_(place.slots),
        consumed_(place.consumed),
        shift_(std::countr_zero(place.bytes / slot_bytes)) {}

  /// Whether next() would give an entry, or a skip.
  bool ready() const noexcept { return lap_of(header_word(word_).load(std::memory_order_acquire)) == lap_; }
  /// The next entry, valid until release(). False: there is none.
  bool next(Entry& entry) noexcept {
    std::uint64_t header = header_word(word_).load(std::memory_order_acquire);
    if (lap_of(header) != lap_) return false;
    if (kind_of(header) == EntryKind::skip) [[unlikely]] {
      advance(count() - index());
      header = header_word(word_).load(std::memory_order_acquire);
      if (lap_of(header) != lap_) return false;
    }
    const std::size_t bytes = length_of(header);
    entry = {kind_of(header), {word_ + header_bytes, bytes}};
    advance(slots_for(bytes));
    // In a stream the writer is ahead: have its lines come while this entry is worked on.
    __builtin_prefetch(slots_ + ((head_ + lookahead) & (count() - 1)) * slot_bytes);
    return true;
  }
  /// Gives the entries back that next() has given. The writer is told at every quarter of the ring: an entry may
  /// be at most a quarter long, so that it always fits into what the writer knows to be free.
  void release() noexcept {
    if (head_ - released_ < count() / 4) return;
    released_ = head_;
    std::atomic_ref(*consumed_).store(head_, std::memory_order_release);
  }

 private:
  std::size_t count() const noexcept { return std::size_t{1} << shift_; }
  std::size_t index() const noexcept { return head_ & (count() - 1); }
  void advance(std::size_t slots) noexcept {
    head_ += slots;
    word_ = slots_ + index() * slot_bytes;
    lap_ = (head_ >> shift_) + 1;
  }

  static constexpr std::size_t lookahead = 4;  // slots
  static inline std::uint64_t nothing_ = 0;

  std::byte* word_ = reinterpret_cast<std::byte*>(&nothing_);  // where the next header will appear
  std::uint64_t lap_ = 1;                                      // and the lap that it will show
  std::byte* slots_ = nullptr;
  std::uint64_t* consumed_ = nullptr;
  int shift_ = 0;               // logarithm of the slots in the ring
  std::uint64_t head_ = 0;      // slots taken since the start
  std::uint64_t released_ = 0;  // of these, given back
};
static_assert(sizeof(RingReader) == 56 && sizeof(core::WireHeader) + header_bytes + 8 <= slot_bytes);

}  // namespace godwit::shm
