// Headers on the wire. Little-endian hosts only (checked at compile time); the layout is part of the protocol
// version: change it and `wire_version` together. Described in docs/wire.md.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace godwit::core {

static_assert(std::endian::native == std::endian::little, "the wire format is little-endian");

inline constexpr std::uint8_t wire_version = 1;

/// What a message is for. User messages carry (context, tag); the rest belongs to protocols.
enum class MessageKind : std::uint8_t {
  eager,           // payload follows                                  tag
  eager_sync,      // as eager, the receiver answers with `matched`    tag, operation
  ready_to_send,   // rendezvous: ReadyToSend follows                  tag
  clear_to_send,   // receiver asks for the data as `data` messages: ClearToSend follows
  data,            // piece of a streamed transfer: DataPiece, then payload
  finished,        // receiver has fetched the data: Finished follows
  matched,         // answer to eager_sync: Finished follows
  active,          // active message                                   tag = handler id
  credit,          // CreditGrant follows
  put_data,        // emulated put: PutPiece, then payload
  put_ack,         // Finished follows
  get_request,     // emulated get: GetRequest follows
  atomic_request,  // AtomicRequest follows
  atomic_reply,    // AtomicReply follows
  notify,          // notification of an emulated put: NotifyMessage follows
  abort,           // communicator aborted: AbortMessage, then words
};

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

}  // namespace godwit::core
