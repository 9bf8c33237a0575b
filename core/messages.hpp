// Payloads of protocol messages (MessageKind in wire.hpp). Plain values, copied to and from the wire.
#pragma once

#include <godwit/error.hpp>

#include <cstddef>
#include <cstdint>

#include "core/copy.hpp"
#include "core/transport.hpp"

namespace godwit::core {

struct ReadyToSend {
  std::uint64_t size = 0;
  std::uint64_t operation = 0;  // the sender's
  std::uint64_t address = 0;    // of the data in the sender, for a get
  PackedKey key{};
  std::uint32_t active = 0;  // 1: an active message, WireHeader::tag = handler
  std::uint32_t has_key = 0;
};

struct ClearToSend {
  std::uint64_t sender_operation = 0;
  std::uint64_t receiver_operation = 0;
  std::uint64_t bytes = 0;  // wanted: less than announced when the receive buffer is shorter
};

/// Answers that end an operation of the peer.
struct Finished {
  std::uint64_t operation = 0;
  ErrorCode status = ErrorCode::ok;
  std::uint8_t pad[7] = {};
};

struct PutEnd {
  std::uint64_t operation = 0;  // the origin's
  std::uint64_t offset = 0;     // of the whole put
  std::uint64_t size = 0;
  std::uint16_t slot = 0;
  std::uint16_t notify = 0;
  std::uint8_t has_notify = 0;
  std::uint8_t pad[3] = {};
};

struct GetRequest {
  std::uint64_t operation = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint16_t slot = 0;
  std::uint8_t pad[6] = {};
};

struct AtomicRequest {
  std::uint64_t operation = 0;
  std::uint64_t offset = 0;
  std::uint64_t operand = 0;
  std::uint64_t compare = 0;
  std::uint32_t width = 8;
  std::uint16_t slot = 0;
  std::uint8_t swap = 0;  // 1: compare_swap
  std::uint8_t pad = 0;
};

struct AtomicReply {
  std::uint64_t operation = 0;
  std::uint64_t value = 0;
  ErrorCode status = ErrorCode::ok;
  std::uint8_t pad[7] = {};
};

/// What an AbortMessage is for. Only mismatches have questions: who sees one asks the other side for its call. Relayed:
/// somebody else's verdict, for a peer that may not know of it yet.
enum class AbortStage : std::uint8_t { verdict, question, answer, relayed };

/// Words follow: the reason of a verdict, else the sender's own call.
struct AbortMessage {
  ErrorCode code = ErrorCode::aborted;
  AbortStage stage = AbortStage::verdict;
  std::uint8_t pad[6] = {};
  std::uint64_t sequence = 0;  // mismatch: which collective
};

/// The error that a peer reports. What is none becomes `transport`.
inline ErrorCode error_from_wire(ErrorCode code) noexcept {
  return code > ErrorCode::in_progress && code <= ErrorCode::internal ? code : ErrorCode::transport;
}

/// Capabilities::max_message is never below this, so that every protocol message fits.
inline constexpr std::size_t smallest_max_message = 280;
/// Words in an AbortMessage; longer ones are cut, and those that do not fit into one message.
inline constexpr std::size_t max_abort_words = 1000;

}  // namespace godwit::core
