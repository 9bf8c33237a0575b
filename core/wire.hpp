// Headers on the wire. Little-endian hosts only (checked at compile time); the layout is part of the protocol
// version: change it and `wire_version` together. Described in docs/wire.md.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

namespace godwit::core {

static_assert(std::endian::native == std::endian::little, "the wire format is little-endian");

inline constexpr std::uint8_t wire_version = 1;

/// What a message is for, what follows the header, and what its fields mean where they differ.
enum class MessageKind : std::uint8_t {
  eager,           // payload                    context, tag: the user's
  ready_to_send,   // ReadyToSend (rendezvous)   context, tag: the user's
  clear_to_send,   // ClearToSend: the receiver asks for the data as `data` messages
  data,            // piece of streamed data     tag: the receiver's operation; context, signature: offset
  finished,        // Finished: the receiver has the data, or failed
  active,          // payload                    context: the communicator's; tag: handler
  credit,          // nothing                    tag: bytes of eager window given back
  put_data,        // piece of an emulated put   context: region slot; tag: offset
  put_end,         // PutEnd: asks for put_ack
  put_ack,         // Finished
  get_request,     // GetRequest (emulated get), answered by `data`, or by `finished` when it fails
  atomic_request,  // AtomicRequest
  atomic_reply,    // AtomicReply
  notify,          // nothing                    tag: slot << 16 | id
  abort,           // AbortMessage, then words   context: the communicator's
  awaited,         // nothing                    as a message of the collective for which the sender waits
};
inline constexpr std::size_t message_kind_count = 16;

/// First bytes of every message.
struct WireHeader {
  std::uint8_t version = wire_version;
  MessageKind kind = MessageKind::eager;
  std::uint16_t epoch = 0;      // of the connection; grows when a lost one is replaced
  std::uint32_t sequence = 0;   // per direction and epoch, counts messages
  std::uint32_t context = 0;    // communicator
  std::uint32_t signature = 0;  // collectives: hash of (collective, type, op, count, root); else 0
  std::int64_t tag = 0;
};
static_assert(sizeof(WireHeader) == 24);

/// `data` carries a 64-bit offset in the two fields that it does not need.
inline void set_offset(WireHeader& header, std::uint64_t offset) noexcept {
  header.context = static_cast<std::uint32_t>(offset);
  header.signature = static_cast<std::uint32_t>(offset >> 32);
}
inline std::uint64_t offset_of(const WireHeader& header) noexcept {
  return header.context | static_cast<std::uint64_t>(header.signature) << 32;
}

template <class T>
std::span<const std::byte> wire_bytes(const T& value) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

/// Reads a T from the front and advances; nothing if there is too little.
template <class T>
std::optional<T> read_wire(std::span<const std::byte>& bytes) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes = bytes.subspan(sizeof(T));
  return value;
}

}  // namespace godwit::core
