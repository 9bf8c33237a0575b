// Names of all protocols and message handlers, for list.cpp and for protocols that share a step.
#pragma once

#include "core/messages.hpp"
#include "core/protocols/protocol.hpp"

namespace godwit::core {

struct Unexpected;

extern const Protocol eager_protocol;
extern const Protocol rendezvous_protocol;
extern const Protocol active_eager_protocol;
extern const Protocol active_rendezvous_protocol;
extern const Protocol put_direct_protocol;
extern const Protocol put_emulated_protocol;
extern const Protocol get_direct_protocol;
extern const Protocol get_emulated_protocol;
extern const Protocol fetch_add_direct_protocol;
extern const Protocol compare_swap_direct_protocol;
extern const Protocol atomic_emulated_protocol;

#define GODWIT_HANDLER(name) \
  void name(Worker& worker, Peer& peer, const WireHeader& header, std::span<const std::byte> payload)
GODWIT_HANDLER(on_eager);
GODWIT_HANDLER(on_ready_to_send);
GODWIT_HANDLER(on_clear_to_send);
GODWIT_HANDLER(on_data);
GODWIT_HANDLER(on_finished);
GODWIT_HANDLER(on_active);
GODWIT_HANDLER(on_credit);
GODWIT_HANDLER(on_put_data);
GODWIT_HANDLER(on_put_end);
GODWIT_HANDLER(on_put_ack);
GODWIT_HANDLER(on_get_request);
GODWIT_HANDLER(on_atomic_request);
GODWIT_HANDLER(on_atomic_reply);
GODWIT_HANDLER(on_notify);
GODWIT_HANDLER(on_abort);
GODWIT_HANDLER(on_awaited);
#undef GODWIT_HANDLER

/// Bytes of the sender's eager window that a message of this size holds: payload plus bookkeeping.
constexpr std::size_t eager_charge(std::size_t size) noexcept { return size + 64; }

/// Puts an eager message into its receive and completes it.
void deliver_eager(Worker& worker, Operation& receive, const Unexpected& message);
/// A receive has met the announcement of a rendezvous: fetches the data or asks for it.
void begin_receive(Worker& worker, Operation& receive, Peer& peer, const ReadyToSend& announcement);
/// All bytes of a receive (or large active message) are here.
void finish_receive(Worker& worker, Operation& receive);
/// A receive has met an unexpected message: recycles the message.
void receive_unexpected(Worker& worker, Operation& receive, Unexpected& message);
/// Announces a send and keeps its memory reachable.
void announce(Worker& worker, Operation& operation, bool active);

/// All pieces of an emulated put have left: asks for the answer.
void finish_emulated_put(Worker& worker, Operation& operation);

/// Its peer is connected, and its endpoint reaches the adapter of the target, for which `remote` has a handle.
void start_adapter_atomic(Worker& worker, Operation& operation);
/// A get that is one work request has been posted.
void started_get(Worker& worker, Operation& operation);
/// Posts the next pieces of a put or get in pieces of the route's max_rdma, a few in flight.
void pump_transfer(Worker& worker, Operation& operation);
/// One piece is done. True when it was the last.
bool advance_transfer(Operation& operation) noexcept;

}  // namespace godwit::core
