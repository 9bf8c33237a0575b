// One-sided operations as work requests: memory that the endpoint reaches, atomics that its wire or mapping has.
#include "core/protocols/handlers.hpp"
#include "core/worker.hpp"

namespace godwit::core {

namespace {

std::optional<std::size_t> rma_limit(const Route& route) {
  return route.capabilities.rma ? std::optional(no_limit) : std::nullopt;
}

std::optional<std::size_t> atomic_limit(const Route& route) {
  return route.capabilities.atomics != AtomicsDomain::none ? std::optional(no_limit) : std::nullopt;
}

double rma_cost(const Route& route, std::size_t size) {
  return route.capabilities.rma_overhead_s + static_cast<double>(size) / route.capabilities.bandwidth_Bps;
}

double atomic_cost(const Route& route, std::size_t) { return route.capabilities.rma_overhead_s; }

void start_put(Worker& worker, Operation& operation) {
  worker.count_outstanding(operation, false);
  operation.state = Operation::State::moving;
  pump_transfer(worker, operation);
}

void start_get(Worker& worker, Operation& operation) {
  operation.state = Operation::State::moving;
  pump_transfer(worker, operation);
}

void on_put_done(Worker& worker, Operation& operation, ErrorCode status, std::string_view detail) {
  --operation.in_flight;
  Peer& peer = *operation.peer;
  if (status != ErrorCode::ok) return worker.complete(operation, status, std::string(detail));
  if (!advance_transfer(operation)) return pump_transfer(worker, operation);
  if (operation.notify && !peer.capabilities.put_notify) {
    // Sends and puts of one endpoint share a queue pair: the message arrives after the payload.
    WireHeader header = worker.header(peer, MessageKind::notify);
    header.tag = *operation.notify;
    worker.send_control(peer, header, {});
  }
  worker.complete(operation);
}

void on_get_done(Worker& worker, Operation& operation, ErrorCode status, std::string_view detail) {
  --operation.in_flight;
  if (status != ErrorCode::ok) return worker.complete(operation, status, std::string(detail));
  if (operation.in_flight == 0 && operation.posted == operation.size) [[likely]]
    return worker.complete(operation);
  advance_transfer(operation);
  pump_transfer(worker, operation);
}

void start_atomic(Worker& worker, Operation& operation) {
  Peer& peer = *operation.peer;
  worker.count_outstanding(operation, operation.domain == AtomicsDomain::adapter);
  operation.state = Operation::State::moving;
  WorkRequest request;
  request.op = operation.kind == Operation::Kind::fetch_add ? Op::fetch_add : Op::compare_swap;
  request.local = std::as_writable_bytes(std::span<std::uint64_t, 1>(&operation.fetched, 1));
  request.remote = operation.remote;
  request.operand = operation.operand;
  request.compare = operation.compare;
  request.cookie = operation.id;
  ++operation.in_flight;
  worker.submit(peer, request);
}

void on_atomic_done(Worker& worker, Operation& operation, ErrorCode status, std::string_view detail) {
  --operation.in_flight;
  if (status != ErrorCode::ok) return worker.complete(operation, status, std::string(detail));
  if (operation.result != nullptr) *operation.result = operation.fetched;
  worker.complete(operation);
}

}  // namespace

const Protocol put_direct_protocol{"put/direct",
                                   Operation::Kind::put,
                                   true,
                                   false,
                                   "written by the origin into the target's memory",
                                   rma_limit,
                                   rma_cost,
                                   start_put,
                                   on_put_done};
const Protocol get_direct_protocol{
    "get/direct", Operation::Kind::get, true, false, "read by the origin from the target's memory", rma_limit, rma_cost,
    start_get,    on_get_done};
const Protocol fetch_add_direct_protocol{"fetch_add/direct",
                                         Operation::Kind::fetch_add,
                                         true,
                                         false,
                                         "64-bit atomic of the transport",
                                         atomic_limit,
                                         atomic_cost,
                                         start_atomic,
                                         on_atomic_done};
const Protocol compare_swap_direct_protocol{"compare_swap/direct",
                                            Operation::Kind::compare_swap,
                                            true,
                                            false,
                                            "64-bit atomic of the transport",
                                            atomic_limit,
                                            atomic_cost,
                                            start_atomic,
                                            on_atomic_done};

void start_adapter_atomic(Worker& worker, Operation& operation) {
  operation.domain = AtomicsDomain::adapter;
  operation.size = sizeof operation.fetched;
  operation.protocol =
      operation.kind == Operation::Kind::fetch_add ? &fetch_add_direct_protocol : &compare_swap_direct_protocol;
  start_atomic(worker, operation);
}

void started_get(Worker& worker, Operation& operation) {
  operation.protocol = &get_direct_protocol;
  operation.state = Operation::State::moving;
  operation.posted = operation.size;
  ++operation.in_flight;
  worker.set_posting(operation, true);  // see pump_transfer()
}

void on_notify(Worker& worker, Peer&, const WireHeader& header, std::span<const std::byte>) {
  worker.regions().notify(static_cast<std::uint32_t>(header.tag));
}

}  // namespace godwit::core
