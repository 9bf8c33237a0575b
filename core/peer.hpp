// Peer: everything the worker knows about one other rank. Made on first use.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/operation.hpp"
#include "core/protocols/protocol.hpp"
#include "core/transport.hpp"

namespace godwit::core {

struct Peer {
  enum class State : std::uint8_t { connecting, ready, lost };

  Rank rank = 0;
  State state = State::connecting;
  bool adapter_only = false;  // a second way to the rank, for atomics that its adapter executes
  bool blocked = false;       // `pending` is not empty: nothing may overtake it
  Transport* transport = nullptr;
  std::unique_ptr<Endpoint> endpoint;
  Capabilities capabilities;
  std::size_t eager_max = 0;   // largest size that goes eagerly
  std::size_t inline_max = 0;  // payload up to this is reusable on acceptance
  std::size_t piece = 0;       // payload of one message after a protocol's own struct
  std::size_t credit = 0;      // bytes of eager messages that we may still send
  std::size_t owed = 0;        // bytes of the peer's credit that we have freed and not granted
  std::uint32_t next_sequence = 0;
  std::uint32_t expected_sequence = 0;
  std::uint16_t epoch = 0;
  std::uint64_t rma_outstanding = 0;       // puts and atomics not yet visible there
  std::uint64_t emulated_outstanding = 0;  // those of them that a later request may overtake: the peer's CPU executes
                                           // them, or its adapter, which may let a put go before an atomic
  std::uint64_t unposted = 0;              // that later ones could overtake: puts not all posted, gets not done
  OperationQueue held;                     // puts with a notification that wait until `unposted` is 0
  ProtocolTable protocols;
  std::deque<WorkRequest> pending;           // not accepted yet: the only place that retries
  std::deque<std::vector<std::byte>> early;  // messages that came before our endpoint was connected
  OperationQueue waiting;                    // until the endpoint is connected, and all before them have started
  ErrorCode lost_status = ErrorCode::ok;     // lost: peer_failed, or ok after its good-bye
  std::string lost_reason;
};

}  // namespace godwit::core
