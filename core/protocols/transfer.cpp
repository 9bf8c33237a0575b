// Puts and gets of any length in pieces that the wire takes.
#include <algorithm>

#include "core/protocols/handlers.hpp"
#include "core/worker.hpp"

namespace godwit::core {

namespace {

// Enough to keep a wire busy; small enough that other operations get their turn.
constexpr std::uint8_t pieces_in_flight = 4;

std::size_t piece_of(const Peer& peer) noexcept { return peer.capabilities.max_rdma; }

}  // namespace

void pump_transfer(Worker& worker, Operation& operation) {
  Peer& peer = *operation.peer;
  const bool put = operation.kind == Operation::Kind::put;
  // A put of nothing still carries its notification.
  while (operation.in_flight < pieces_in_flight &&
         (operation.posted < operation.size || (operation.size == 0 && operation.in_flight == 0))) {
    WorkRequest request;
    request.op = put ? Op::put : Op::get;
    const std::size_t bytes = std::min(operation.size - operation.posted, piece_of(peer));
    request.local = {operation.buffer + operation.posted, bytes};
    request.remote = {operation.remote.address + operation.posted, operation.remote.handle};
    request.cookie = operation.id;
    if (operation.registration) request.lkey = operation.registration->lkey;
    operation.posted += bytes;
    if (put && operation.posted == operation.size && peer.capabilities.put_notify) request.imm = operation.notify;
    ++operation.in_flight;
    worker.submit(peer, request);
    if (operation.size == 0) break;
  }
  // A posted get may still read what a later put would overwrite; puts of one endpoint take effect in order.
  if (put) worker.set_posting(operation, operation.posted < operation.size);
  if (operation.kind == Operation::Kind::get) worker.set_posting(operation, true);
}

bool advance_transfer(Operation& operation) noexcept {
  // Completions of one endpoint come in order, so only the last piece can be a short one.
  operation.moved = std::min(operation.size, operation.moved + piece_of(*operation.peer));
  return operation.moved == operation.size;
}

}  // namespace godwit::core
