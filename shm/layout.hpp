// What two processes agree on in shared memory. Change it together with `layout_version`. Described in README.md.
//
// All shared words are accessed by std::atomic_ref; payload bytes are ordered by the release store and the acquire
// load of the entry header before them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace godwit::shm {

inline constexpr std::uint16_t layout_version = 2;

inline constexpr std::size_t slot_bytes = 64;  // one cache line
inline constexpr std::size_t header_bytes = 8;

/// What an entry of a ring is.
enum class EntryKind : std::uint8_t {
  skip = 1,     // the rest of the ring is unused: go on at its start
  message = 2,  // WireHeader and payload
  notify = 3,   // the 32-bit immediate of a put
};

/// First word of an entry: lap of the ring (40 bits, from 1) | kind (3 bits) | bytes after the header (21 bits).
/// The lap says that the entry is there: a reader knows which lap it is in. 2^40 laps are never reached.
inline constexpr unsigned length_bits = 21;
inline constexpr unsigned lap_shift = 24;
inline constexpr std::size_t max_entry_bytes = (std::size_t{1} << length_bits) - 1;

constexpr std::uint64_t pack_header(std::uint64_t lap, EntryKind kind, std::size_t bytes) noexcept {
  return (lap << lap_shift) | (static_cast<std::uint64_t>(kind) << length_bits) | bytes;
}
constexpr std::uint64_t lap_of(std::uint64_t header) noexcept { return header >> lap_shift; }
constexpr EntryKind kind_of(std::uint64_t header) noexcept {
  return static_cast<EntryKind>((header >> length_bits) & 7U);
}
constexpr std::size_t length_of(std::uint64_t header) noexcept { return header & max_entry_bytes; }
constexpr std::size_t slots_for(std::size_t bytes) noexcept {
  return (header_bytes + bytes + slot_bytes - 1) / slot_bytes;
}

/// Written by the reader of a ring, read by its writer when the ring seems full. A pair of lines, because the
/// adjacent-line prefetcher fetches pairs.
struct alignas(128) ReadCursor {
  std::uint64_t consumed = 0;  // slots, since the start
};
static_assert(sizeof(ReadCursor) == 128);

/// A large get that both sides may copy (joint_copy.hpp). Written by its owner, before `claim`.
struct alignas(128) JointOffer {
  std::uint64_t claim = 0;          // number of the transfer << 32 | chunks claimed by the peer << 16 | by the owner
  std::uint64_t owner_address = 0;  // where the data goes, in the owner
  std::uint64_t peer_address = 0;   // where it is, in the peer
  std::uint64_t bytes = 0;
  std::uint64_t chunk = 0;  // bytes of a chunk; the last may be shorter
  std::uint64_t pad[3] = {};
  std::uint32_t copied = 0;       // chunks, by either side
  std::uint32_t peer_failed = 0;  // the peer could not copy one of its chunks
};
static_assert(sizeof(JointOffer) == 128);

inline constexpr std::size_t joint_offers = 4;  // of one side at a time

/// The gets of one side. The peer looks at `posted`, the number of the latest.
struct alignas(128) JointBoard {
  std::uint64_t posted = 0;
  JointOffer offers[joint_offers];
};

/// Start of the segment of a connected pair; the two rings follow at `rings_offset`. [0]: from the side that
/// connected to the side that accepted; [1]: back.
struct LinkControl {
  ReadCursor cursor[2];
  JointBoard board[2];
};
inline constexpr std::size_t rings_offset = 4096;
static_assert(sizeof(LinkControl) <= rings_offset);

constexpr std::size_t link_bytes(std::size_t ring_bytes) noexcept { return rings_offset + 2 * ring_bytes; }

/// The bell of a process, mapped by all its peers. `asleep` is 0 or the number of the sleep.
struct alignas(128) BellPage {
  std::uint32_t asleep = 0;
};
static_assert(sizeof(BellPage) == 128);

}  // namespace godwit::shm
