// One-sided operations carried out by the target's CPU: for memory that the endpoint cannot reach, and for atomics
// that the wire lacks. They make progress while the target is in a Godwit call.
#include <algorithm>
#include <atomic>

#include "core/protocols/handlers.hpp"
#include "core/worker.hpp"

namespace godwit::core {

namespace {

std::optional<std::size_t> any_limit(const Route&) { return no_limit; }

double put_cost(const Route& route, std::size_t size) {
  return route.capabilities.latency_s + route.capabilities.message_s(static_cast<double>(size));
}

double get_cost(const Route& route, std::size_t size) {
  return 2 * route.capabilities.latency_s + route.capabilities.message_s(static_cast<double>(size));
}

double atomic_cost(const Route& route, std::size_t) { return 2 * route.capabilities.latency_s; }

void begin(Worker& worker, Operation& operation) noexcept {
  worker.count_outstanding(operation, true);
  operation.state = Operation::State::moving;
}

void start_put(Worker& worker, Operation& operation) {
  begin(worker, operation);
  worker.add_stream(operation);
}

// The last piece has left: ask for the answer that says that all is visible.
void on_put_piece(Worker& worker, Operation& operation, ErrorCode status, std::string_view detail) {
  if (status != ErrorCode::ok) return worker.send_failed(operation, status, detail);
  --operation.in_flight;
}

void start_get(Worker& worker, Operation& operation) {
  operation.state = Operation::State::moving;
  worker.set_posting(operation, true);  // until the answer a later put may change what it reads
  const GetRequest wish{operation.id, operation.offset, operation.size, operation.slot, {}};
  worker.send_control(*operation.peer, worker.header(*operation.peer, MessageKind::get_request), wire_bytes(wish));
}

void start_atomic(Worker& worker, Operation& operation) {
  begin(worker, operation);
  const AtomicRequest wish{operation.id,
                           operation.offset,
                           operation.operand,
                           operation.compare,
                           operation.width,
                           operation.slot,
                           static_cast<std::uint8_t>(operation.kind == Operation::Kind::compare_swap ? 1 : 0),
                           0};
  worker.send_control(*operation.peer, worker.header(*operation.peer, MessageKind::atomic_request), wire_bytes(wish));
}

// The requests are control messages; only the target of a get posts pieces.
void on_piece(Worker& worker, Operation& operation, ErrorCode status, std::string_view detail) {
  if (status != ErrorCode::ok) return worker.send_failed(operation, status, detail);
  --operation.in_flight;
}

// The span of a region that a request names; empty optional if there is no such region or it is too short.
std::optional<std::span<std::byte>> locate(Worker& worker, std::uint16_t slot, std::uint64_t offset,
                                           std::uint64_t size) {
  const RegionEntry* entry = worker.regions().find(slot);
  if (entry == nullptr || offset > entry->memory.size() || size > entry->memory.size() - offset) return std::nullopt;
  return entry->memory.subspan(offset, size);
}

// Words are aligned: checked at the origin's call against the region's base.
template <class Word>
std::uint64_t apply(std::byte* address, const AtomicRequest& wish) noexcept {
  std::atomic_ref<Word> word(*reinterpret_cast<Word*>(address));
  if (wish.swap == 0) return word.fetch_add(static_cast<Word>(wish.operand));
  auto expected = static_cast<Word>(wish.compare);
  word.compare_exchange_strong(expected, static_cast<Word>(wish.operand));
  return expected;
}

}  // namespace

const Protocol put_emulated_protocol{
    "put/emulated", Operation::Kind::put, false, false, "sent in pieces, copied by the target", any_limit, put_cost,
    start_put,      on_put_piece};
const Protocol get_emulated_protocol{"get/emulated",
                                     Operation::Kind::get,
                                     false,
                                     false,
                                     "asked for, streamed back by the target",
                                     any_limit,
                                     get_cost,
                                     start_get,
                                     on_piece};
const Protocol atomic_emulated_protocol{"atomic/emulated",
                                        Operation::Kind::fetch_add,
                                        false,
                                        false,
                                        "executed by the target",
                                        any_limit,
                                        atomic_cost,
                                        start_atomic,
                                        on_piece};

void finish_emulated_put(Worker& worker, Operation& operation) {
  const PutEnd end_of_put{operation.id,
                          operation.offset,
                          operation.size,
                          operation.slot,
                          static_cast<std::uint16_t>(operation.notify.value_or(0)),
                          static_cast<std::uint8_t>(operation.notify ? 1 : 0),
                          {}};
  Peer& peer = *operation.peer;
  operation.state = Operation::State::posted;  // waits for put_ack
  worker.send_control(peer, worker.header(peer, MessageKind::put_end), wire_bytes(end_of_put));
}

void on_put_data(Worker& worker, Peer&, const WireHeader& header, std::span<const std::byte> payload) {
  // A region that is gone, or a piece outside it, shows in the answer to put_end.
  const auto target = locate(worker, static_cast<std::uint16_t>(header.context), static_cast<std::uint64_t>(header.tag),
                             payload.size());
  if (target) copy_bytes(target->data(), payload);
}

void on_put_end(Worker& worker, Peer& peer, const WireHeader&, std::span<const std::byte> payload) {
  const auto wish = read_wire<PutEnd>(payload);
  if (!wish) return worker.protocol_error(peer, "put_end is too short");
  const bool known = locate(worker, wish->slot, wish->offset, wish->size).has_value();
  if (known && wish->has_notify != 0)
    worker.regions().notify(static_cast<std::uint32_t>(wish->slot) << 16 | wish->notify);
  const Finished answer{wish->operation, known ? ErrorCode::ok : ErrorCode::invalid_argument};
  worker.send_control(peer, worker.header(peer, MessageKind::put_ack), wire_bytes(answer));
}

void on_put_ack(Worker& worker, Peer& peer, const WireHeader&, std::span<const std::byte> payload) {
  const auto answer = read_wire<Finished>(payload);
  if (!answer) return worker.protocol_error(peer, "put_ack is too short");
  Operation* operation = worker.find(answer->operation);
  if (operation == nullptr || operation->peer != &peer || operation->protocol != &put_emulated_protocol ||
      operation->state != Operation::State::posted)
    return;
  if (answer->status == ErrorCode::ok) return worker.complete(*operation);
  worker.complete(*operation, error_from_wire(answer->status),
                  "put to " + worker.name_of(peer.rank) + ": the region is no longer registered there");
}

void on_get_request(Worker& worker, Peer& peer, const WireHeader&, std::span<const std::byte> payload) {
  const auto wish = read_wire<GetRequest>(payload);
  if (!wish) return worker.protocol_error(peer, "get_request is too short");
  const auto source = locate(worker, wish->slot, wish->offset, wish->size);
  if (!source) {
    const Finished answer{wish->operation, ErrorCode::invalid_argument};
    return worker.send_control(peer, worker.header(peer, MessageKind::finished), wire_bytes(answer));
  }
  Operation& answer = worker.new_operation(Operation::Kind::stream, nullptr);
  answer.abandoned = true;
  answer.peer = &peer;
  answer.protocol = &get_emulated_protocol;
  answer.buffer = source->data();
  answer.size = source->size();
  answer.remote_id = wish->operation;
  answer.state = Operation::State::moving;
  worker.add_stream(answer);
}

void on_atomic_request(Worker& worker, Peer& peer, const WireHeader&, std::span<const std::byte> payload) {
  const auto wish = read_wire<AtomicRequest>(payload);
  if (!wish) return worker.protocol_error(peer, "atomic_request is too short");
  AtomicReply reply{wish->operation, 0, ErrorCode::ok, {}};
  const auto target = locate(worker, wish->slot, wish->offset, wish->width);
  if (!target || (wish->width != 4 && wish->width != 8) ||
      reinterpret_cast<std::uintptr_t>(target->data()) % wish->width != 0)
    reply.status = ErrorCode::invalid_argument;
  else if (wish->width == 8 && worker.regions().find(wish->slot)->domain() == AtomicsDomain::adapter)
    return worker.ask_own_adapter(peer, *wish);
  else
    reply.value =
        wish->width == 8 ? apply<std::uint64_t>(target->data(), *wish) : apply<std::uint32_t>(target->data(), *wish);
  worker.send_control(peer, worker.header(peer, MessageKind::atomic_reply), wire_bytes(reply));
}

void on_atomic_reply(Worker& worker, Peer& peer, const WireHeader&, std::span<const std::byte> payload) {
  const auto reply = read_wire<AtomicReply>(payload);
  if (!reply) return worker.protocol_error(peer, "atomic_reply is too short");
  Operation* operation = worker.find(reply->operation);
  if (operation == nullptr || operation->peer != &peer || operation->protocol != &atomic_emulated_protocol ||
      operation->state != Operation::State::moving)
    return;
  if (reply->status != ErrorCode::ok)
    return worker.complete(*operation, error_from_wire(reply->status),
                           "atomic at " + worker.name_of(peer.rank) +
                               (reply->status == ErrorCode::invalid_argument
                                    ? ": the region is no longer registered there"
                                    : ": its adapter, which was to execute it, failed: see the log there"));
  if (operation->result != nullptr) *operation->result = reply->value;
  worker.complete(*operation);
}

}  // namespace godwit::core
