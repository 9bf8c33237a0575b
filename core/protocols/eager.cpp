// Eager: header and payload in one message, copied by the transport. The sender spends its window; the receiver
// gives it back when the message has left the unexpected queue.
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
  request.header = worker.header(peer, MessageKind::eager, &operation);
  request.local = {operation.buffer, operation.size};
  request.cookie = operation.id;
  request.signalled = operation.size > peer.inline_max;
  operation.state = Operation::State::moving;
  ++operation.in_flight;
  peer.credit -= eager_charge(operation.size);
  if (worker.submit(peer, request) && !request.signalled) eager_protocol.on_done(worker, operation, ErrorCode::ok, {});
}

void on_done(Worker& worker, Operation& operation, ErrorCode status, std::string_view detail) {
  if (status != ErrorCode::ok) return worker.send_failed(operation, status, detail);
  --operation.in_flight;
  worker.complete(operation);
}

// `source`: in the job.
[[gnu::always_inline]] inline void deliver(Worker& worker, Operation& receive, Rank source, Tag tag,
                                           std::span<const std::byte> payload) {
  copy_bytes(receive.buffer, payload.first(std::min(payload.size(), receive.size)));
  receive.info = {receive.group->to_group(source), tag, payload.size()};
  receive.truncated = payload.size() > receive.size;
  if (receive.truncated) [[unlikely]]
    return finish_receive(worker, receive);
  worker.complete(receive);
}

}  // namespace

const Protocol eager_protocol{
    "eager", Operation::Kind::send, false, true, "copied through the transport, one message", limit, cost, start,
    on_done};

void deliver_eager(Worker& worker, Operation& receive, const Unexpected& message) {
  deliver(worker, receive, message.source, message.tag, message.data);
}

void on_eager(Worker& worker, Peer& peer, const WireHeader& header, std::span<const std::byte> payload) {
  Operation* receive = worker.matcher().arrived(header.context, peer.rank, header.tag);
  if (receive != nullptr) [[likely]] {
    worker.grant_credit(peer, eager_charge(payload.size()));
    if (receive->signature != header.signature) [[unlikely]] {
      worker.mismatch(*receive->group, peer.rank, static_cast<std::uint64_t>(header.tag));
      return;
    }
    return deliver(worker, *receive, peer.rank, header.tag, payload);
  }
  if (worker.is_gone(header.context)) return worker.grant_credit(peer, eager_charge(payload.size()));
  Unexpected& message = worker.matcher().acquire();
  message.kind = MessageKind::eager;
  message.context = header.context;
  message.signature = header.signature;
  message.source = peer.rank;
  message.tag = header.tag;
  message.size = payload.size();
  message.peer = &peer;
  message.charged = eager_charge(payload.size());
  message.data.assign(payload.begin(), payload.end());
  worker.matcher().add(message);
  worker.check_early(message);
}

void on_credit(Worker& worker, Peer& peer, const WireHeader& header, std::span<const std::byte>) {
  const std::size_t spent = worker.options().eager_window->value - peer.credit;
  if (header.tag < 0 || static_cast<std::size_t>(header.tag) > spent)
    return worker.protocol_error(peer, fmt::format("{} bytes of credit, {} were spent", header.tag, spent));
  peer.credit += static_cast<std::size_t>(header.tag);
}

}  // namespace godwit::core
