// Active messages: eager ones run their handler from the transport's memory. Long ones: rendezvous.cpp.
#include <algorithm>

#include "core/protocols/handlers.hpp"
#include "core/worker.hpp"

namespace godwit::core {

namespace {

std::optional<std::size_t> limit(const Route& route) {
  return std::min(route.eager_limit, route.capabilities.max_message - sizeof(WireHeader));
}

double cost(const Route& route, std::size_t size) {
  return route.capabilities.latency_s + route.capabilities.message_s(static_cast<double>(size));
}

void start(Worker& worker, Operation& operation) {
  Peer& peer = *operation.peer;
  WorkRequest request;
  request.header = worker.header(peer, MessageKind::active, &operation);
  request.local = {operation.buffer, operation.size};
  request.cookie = operation.id;
  request.signalled = operation.size > peer.inline_max;
  operation.state = Operation::State::moving;
  ++operation.in_flight;
  peer.credit -= eager_charge(operation.size);
  if (worker.submit(peer, request) && !request.signalled)
    active_eager_protocol.on_done(worker, operation, ErrorCode::ok, {});
}

void on_done(Worker& worker, Operation& operation, ErrorCode status, std::string_view detail) {
  if (status != ErrorCode::ok) return worker.send_failed(operation, status, detail);
  --operation.in_flight;
  worker.complete(operation);
}

}  // namespace

const Protocol active_eager_protocol{"active/eager",
                                     Operation::Kind::active,
                                     false,
                                     true,
                                     "copied through the transport, the handler reads it there",
                                     limit,
                                     cost,
                                     start,
                                     on_done};

void on_active(Worker& worker, Peer& peer, const WireHeader& header, std::span<const std::byte> payload) {
  worker.deliver_active(header.context, static_cast<std::uint16_t>(header.tag), peer, payload,
                        eager_charge(payload.size()));
}

}  // namespace godwit::core
