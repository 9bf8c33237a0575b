// Rendezvous: the sender announces, the receiver fetches the data from the sender's memory in one copy (get), or
// where it cannot reach that memory asks for it in pieces (stream). Also for active messages that are too
// long to be eager. Synchronous sends use it at any size.
#include <algorithm>

#include "core/protocols/handlers.hpp"
#include "core/worker.hpp"

namespace godwit::core {

namespace {

std::optional<std::size_t> limit(const Route&) { return no_limit; }

double cost(const Route& route, std::size_t size) {
  const Capabilities& wire = route.capabilities;
  const auto bytes = static_cast<double>(size);
  // get: announcement, then one copy; stream: two more crossings, then two copies.
  if (wire.private_rma) return wire.latency_s + wire.rma_overhead_s + bytes / wire.bandwidth_Bps;
  return 3 * wire.latency_s + wire.message_s(bytes);
}

void start_send(Worker& worker, Operation& operation) { announce(worker, operation, false); }
void start_active(Worker& worker, Operation& operation) { announce(worker, operation, true); }

// Pieces of a streamed answer have left.
void on_done(Worker& worker, Operation& operation, ErrorCode status, std::string_view detail) {
  if (status != ErrorCode::ok) return worker.send_failed(operation, status, detail);
  --operation.in_flight;
}

// A receive has failed, and no longer reads.
void end_fetch(Worker& worker, Operation& receive) {
  Peer& sender = *receive.peer;
  if (receive.group != nullptr && receive.group->broken) worker.tell_verdict(*receive.group, sender);
  const Finished answer{receive.remote_id, receive.status};
  worker.send_control(sender, worker.header(sender, MessageKind::finished), wire_bytes(answer));
  receive.failing = false;
  // The sender may have freed the memory because it gave the communicator up.
  if (receive.status == ErrorCode::transport)
    return worker.fail_later(receive, receive.status, std::move(receive.detail));
  worker.complete(receive, receive.status, std::move(receive.detail));
}

// The get side, as protocols of a receive: not in the list, chosen by the receiver.
void on_fetched(Worker& worker, Operation& receive, ErrorCode status, std::string_view detail) {
  --receive.in_flight;
  if (status != ErrorCode::ok) {
    if (receive.in_flight > 0) return worker.complete(receive, status, std::string(detail));
    receive.status = status;
    receive.detail = detail;
    return end_fetch(worker, receive);
  }
  if (!advance_transfer(receive)) return pump_transfer(worker, receive);
  const Finished answer{receive.remote_id, ErrorCode::ok};
  worker.send_control(*receive.peer, worker.header(*receive.peer, MessageKind::finished), wire_bytes(answer));
  finish_receive(worker, receive);
}

const Protocol fetch{"rendezvous/get", Operation::Kind::recv, true, false, "", limit, cost, nullptr, on_fetched,
                     end_fetch};
const Protocol stream{"rendezvous/stream", Operation::Kind::recv, false, false, "", limit, cost, nullptr, on_done};

}  // namespace

const Protocol rendezvous_protocol{"rendezvous",
                                   Operation::Kind::send,
                                   false,
                                   false,
                                   "announced, then fetched from the sender's memory in one copy where that is "
                                   "reachable, else streamed",
                                   limit,
                                   cost,
                                   start_send,
                                   on_done};
const Protocol active_rendezvous_protocol{"active/rendezvous",
                                          Operation::Kind::active,
                                          false,
                                          false,
                                          "as rendezvous, into memory that the target allocates",
                                          limit,
                                          cost,
                                          start_active,
                                          on_done};

void announce(Worker& worker, Operation& operation, bool active) {
  Peer& peer = *operation.peer;
  ReadyToSend announcement;
  announcement.size = operation.size;
  announcement.operation = operation.id;
  announcement.active = active ? 1 : 0;
  if (operation.size > 0 && peer.capabilities.rma) {
    try {
      operation.registration = std::make_unique<Registration>(
          peer.transport->register_memory({operation.buffer, operation.size}, MemoryKind::host));
    } catch (const Error& error) {
      return worker.complete(operation, error.code(), error.what());
    }
    announcement.address = reinterpret_cast<std::uint64_t>(operation.buffer);
    announcement.key = operation.registration->key;
    announcement.has_key = 1;
  }
  operation.state = Operation::State::posted;
  worker.send_control(peer, worker.header(peer, MessageKind::ready_to_send, &operation), wire_bytes(announcement));
}

void on_ready_to_send(Worker& worker, Peer& peer, const WireHeader& header, std::span<const std::byte> payload) {
  const auto announcement = read_wire<ReadyToSend>(payload);
  if (!announcement) return worker.protocol_error(peer, "ready_to_send is too short");
  if (announcement->active != 0) return worker.receive_active(peer, header, *announcement);
  Operation* receive = worker.matcher().arrived(header.context, peer.rank, header.tag);
  if (receive != nullptr && receive->signature == header.signature) [[likely]] {
    receive->info = {receive->group->to_group(peer.rank), header.tag, announcement->size};
    return begin_receive(worker, *receive, peer, *announcement);
  }
  if (worker.is_gone(header.context)) return worker.refuse(peer, *announcement, ErrorCode::aborted);
  if (Group* group = worker.find_group(header.context); group != nullptr && group->broken)
    return worker.refuse(peer, *announcement, *group);
  Unexpected& message = worker.matcher().acquire();
  message.kind = MessageKind::ready_to_send;
  message.context = header.context;
  message.signature = header.signature;
  message.source = peer.rank;
  message.tag = header.tag;
  message.size = announcement->size;
  message.peer = &peer;
  message.announcement = *announcement;
  worker.matcher().add(message);
  if (receive == nullptr) return worker.check_early(message);
  // It stays there until the group is broken: then it is refused.
  worker.mismatch(*receive->group, peer.rank, static_cast<std::uint64_t>(header.tag));
}

void begin_receive(Worker& worker, Operation& receive, Peer& peer, const ReadyToSend& announcement) {
  receive.peer = &peer;
  receive.remote_id = announcement.operation;
  receive.truncated = announcement.size > receive.size;
  receive.size = std::min<std::size_t>(announcement.size, receive.size);
  receive.state = Operation::State::moving;
  receive.posted = receive.moved = 0;
  if (peer.state == Peer::State::lost) return worker.complete(receive, ErrorCode::peer_failed, worker.lost_words(peer));
  if (receive.size == 0) {
    const Finished answer{announcement.operation, ErrorCode::ok};
    worker.send_control(peer, worker.header(peer, MessageKind::finished), wire_bytes(answer));
    return finish_receive(worker, receive);
  }
  const auto handle = announcement.has_key != 0 ? peer.endpoint->import_key(announcement.key) : std::nullopt;
  if (handle) {
    receive.protocol = &fetch;
    receive.remote = {announcement.address, *handle};
    return pump_transfer(worker, receive);
  }
  receive.protocol = &stream;
  const ClearToSend answer{announcement.operation, receive.id, receive.size};
  worker.send_control(peer, worker.header(peer, MessageKind::clear_to_send), wire_bytes(answer));
}

void finish_receive(Worker& worker, Operation& receive) {
  if (receive.kind == Operation::Kind::active) {
    worker.deliver_active(receive.context, static_cast<std::uint16_t>(receive.tag), *receive.peer,
                          {receive.buffer, receive.size}, 0);
    return worker.complete(receive);
  }
  if (!receive.truncated) [[likely]]
    return worker.complete(receive);
  worker.complete(receive, ErrorCode::truncated, worker.truncation_words(receive));
}

void receive_unexpected(Worker& worker, Operation& receive, Unexpected& message) {
  worker.grant_credit(*message.peer, message.charged);
  if (receive.signature != message.signature) [[unlikely]] {
    const Rank source = message.source;
    const auto sequence = static_cast<std::uint64_t>(message.tag);
    message.charged = 0;
    if (message.kind == MessageKind::ready_to_send)
      worker.matcher().add(message);  // to be refused when the group is broken
    else
      worker.matcher().recycle(message);
    return worker.mismatch(*receive.group, source, sequence);
  }
  if (message.kind == MessageKind::eager) {
    deliver_eager(worker, receive, message);
    worker.matcher().recycle(message);
    return;
  }
  receive.info = {receive.group->to_group(message.source), message.tag, message.size};
  const ReadyToSend announcement = message.announcement;
  Peer& peer = *message.peer;
  worker.matcher().recycle(message);
  begin_receive(worker, receive, peer, announcement);
}

// A send or active message of ours that waits for its receiver.
static bool is_announced(const Operation& operation) noexcept {
  return operation.protocol == &rendezvous_protocol || operation.protocol == &active_rendezvous_protocol;
}

void on_clear_to_send(Worker& worker, Peer& peer, const WireHeader&, std::span<const std::byte> payload) {
  const auto wish = read_wire<ClearToSend>(payload);
  if (!wish) return worker.protocol_error(peer, "clear_to_send is too short");
  // It does without the memory.
  if (worker.release_taken_back(peer, wish->sender_operation)) return;
  Operation* operation = worker.find(wish->sender_operation);
  if (operation == nullptr || operation->peer != &peer || operation->state != Operation::State::posted ||
      !is_announced(*operation))
    return;
  operation->remote_id = wish->receiver_operation;
  operation->size = std::min<std::size_t>(operation->size, wish->bytes);
  operation->state = Operation::State::moving;
  worker.add_stream(*operation);
}

void on_data(Worker& worker, Peer& peer, const WireHeader& header, std::span<const std::byte> payload) {
  Operation* receive = worker.find(static_cast<OperationId>(header.tag));
  if (receive == nullptr || receive->peer != &peer || receive->state != Operation::State::moving || receive->failing)
    return;
  const bool asked = receive->protocol == &stream ||
                     (receive->protocol == &get_emulated_protocol && receive->kind == Operation::Kind::get);
  if (!asked) return worker.protocol_error(peer, "data that nobody has asked for");
  const std::uint64_t offset = offset_of(header);
  if (offset != receive->moved || payload.size() > receive->size - offset)
    return worker.protocol_error(peer, fmt::format("{} bytes of data for offset {}, {} of {} have come", payload.size(),
                                                   offset, receive->moved, receive->size));
  copy_bytes(receive->buffer + offset, payload);
  receive->moved += payload.size();
  if (receive->moved == receive->size) finish_receive(worker, *receive);
}

void on_finished(Worker& worker, Peer& peer, const WireHeader&, std::span<const std::byte> payload) {
  const auto answer = read_wire<Finished>(payload);
  if (!answer) return worker.protocol_error(peer, "finished is too short");
  if (worker.release_taken_back(peer, answer->operation)) return;
  Operation* operation = worker.find(answer->operation);
  if (operation == nullptr || operation->peer != &peer || operation->state == Operation::State::connecting) return;
  const bool get = operation->protocol == &get_emulated_protocol && operation->kind == Operation::Kind::get;
  if (!is_announced(*operation) && !get) return;
  if (answer->status == ErrorCode::ok && !get) return worker.complete(*operation);
  worker.complete(*operation, error_from_wire(answer->status),
                  worker.name_of(peer.rank) + " could not carry the operation out");
}

}  // namespace godwit::core
