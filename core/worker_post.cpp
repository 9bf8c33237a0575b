// Posting: from arguments to a started operation, and from there to its end.
#include <algorithm>

#include "core/protocols/handlers.hpp"
#include "core/worker.hpp"

namespace godwit::core {

// --- life of an operation ------------------------------------------------------------------------------------

void Worker::complete(Operation& operation) {
  if (operation.done() || operation.failing) return;
  if (operation.in_flight > 0) [[unlikely]]
    return complete(operation, ErrorCode::ok, {});
  retire(operation);
}

void Worker::complete(Operation& operation, ErrorCode code, std::string detail) {
  if (operation.done() || operation.failing) return;
  if (operation.in_flight > 0) [[unlikely]] {
    // The transport still reads or writes the buffer.
    operation.queue_hook.unlink();
    operation.failing = true;
    operation.status = code;
    operation.detail = std::move(detail);
    return;
  }
  finish(operation, code, std::move(detail));
}

void Worker::finish(Operation& operation, ErrorCode code, std::string detail) {
  operation.status = code;
  operation.detail = std::move(detail);
  retire(operation);
}

// Its status is set.
void Worker::retire(Operation& operation) {
  if (operation.queue_hook.is_linked()) {
    if (operation.kind == Operation::Kind::recv && operation.state == Operation::State::posted)
      matcher_.remove(operation);
    else
      operation.queue_hook.unlink();
  }
  if (operation.kind == Operation::Kind::active && operation.own_buffer) incoming_active_ -= operation.size;
  if (operation.registration) [[unlikely]] {
    operation.peer->transport->deregister_memory(*operation.registration);
    operation.registration.reset();
  }
  settle(operation);
  operation.state = Operation::State::done;
  operation.failing = false;
  operation.active_hook.unlink();
  if (operation.on_complete != nullptr)
    operation.on_complete(operation, operation.owner);
  else if (operation.abandoned)
    release(operation);
  else
    wake_waiters();
}

// --- what one-sided operations leave open at their peer ---

void Worker::count_outstanding(Operation& operation, bool emulated) noexcept {
  operation.outstanding = true;
  operation.emulated = emulated;
  ++operation.peer->rma_outstanding;
  if (emulated) ++operation.peer->emulated_outstanding;
}

void Worker::start_held(Peer& to) {
  while (to.unposted == 0 && !to.held.empty() && to.state == Peer::State::ready) {
    Operation& next = to.held.front();
    to.held.pop_front();
    start(next);
  }
}

void Worker::settle_one_sided(Operation& operation) {
  if (operation.outstanding) --operation.peer->rma_outstanding;
  if (operation.emulated) --operation.peer->emulated_outstanding;
  operation.outstanding = operation.emulated = false;
  set_posting(operation, false);
}

void Worker::abandon(Operation& operation) noexcept {
  if (operation.done())
    release(operation);
  else
    operation.abandoned = true;
}

Operation* Worker::defer(Operation& operation, ErrorCode code, std::string detail, Continuation then) {
  operation.queue_hook.unlink();
  if (!operation.active_hook.is_linked()) active_.push_back(operation);
  operation.state = Operation::State::connecting;
  operation.status = code;
  operation.detail = std::move(detail);
  operation.on_complete = then.on_complete;
  operation.owner = then.owner;
  deferred_.push_back(operation);
  busy_ = true;
  return &operation;
}

void Worker::fail_later(Operation& operation, ErrorCode code, std::string detail) {
  constexpr std::uint8_t passes = 100;
  operation.queue_hook.unlink();
  operation.status = code;
  operation.detail = std::move(detail);
  operation.patience = passes;
  deferred_.push_back(operation);
  busy_ = true;
}

Operation* Worker::launch(Operation& operation, Continuation then) {
  if (operation.group != nullptr && operation.group->broken)
    return defer(operation, operation.group->error.code(), operation.group->error.message(), then);
  Peer& to = *operation.peer;
  if (to.state == Peer::State::lost) {
    const ErrorCode code = to.lost_status == ErrorCode::ok ? ErrorCode::peer_failed : to.lost_status;
    return defer(operation, code, lost_words(to), then);
  }
  if (to.state == Peer::State::connecting || !to.waiting.empty()) {
    operation.state = Operation::State::connecting;
    to.waiting.push_back(operation);
  } else {
    start(operation);
  }
  if (operation.done()) {
    if (operation.status != ErrorCode::ok) return defer(operation, operation.status, std::move(operation.detail), then);
    release(operation);
    return nullptr;
  }
  operation.on_complete = then.on_complete;
  operation.owner = then.owner;
  return &operation;
}

void Worker::start(Operation& operation) {
  Peer& to = *operation.peer;
  if (operation.notify && to.unposted > 0) {
    operation.state = Operation::State::held;
    to.held.push_back(operation);
    return;
  }
  if (operation.key && !operation.reachable) {
    if (const auto handle = to.endpoint->import_key(*operation.key)) {
      operation.remote.handle = *handle;
      operation.reachable = true;
    }
  }
  const bool atomic = operation.kind == Operation::Kind::fetch_add || operation.kind == Operation::Kind::compare_swap;
  const bool reachable =
      operation.reachable && (!atomic || (operation.width == 8 && operation.domain == to.capabilities.atomics &&
                                          to.endpoint->has_atomics(operation.remote.handle)));
  if (to.adapter_only && !reachable) [[unlikely]]
    return send_to_owner(operation);
  const std::size_t size = operation.synchronous ? no_limit : operation.size;
  const Protocol* protocol = to.protocols.choose(operation.kind, size, reachable);
  if (protocol->windowed && to.credit < eager_charge(operation.size))
    protocol = to.protocols.choose(operation.kind, no_limit, reachable);
  operation.protocol = protocol;
  protocol->start(*this, operation);
}

// --- two-sided -------------------------------------------------------------------------------------------------

Operation* Worker::post_send(const SendArguments& arguments) {
  const Group& group = *arguments.group;
  Peer& to = peer(group.to_world(arguments.to));
  const std::size_t size = arguments.data.size();
  if (to.state == Peer::State::ready && size <= to.eager_max && size <= to.inline_max && !to.blocked &&
      to.waiting.empty() && to.credit >= eager_charge(size) && !arguments.synchronous && !group.broken) [[likely]] {
    const WireHeader header{.epoch = to.epoch,
                            .sequence = to.next_sequence,
                            .context = group.context + (arguments.collective ? 1U : 0U),
                            .signature = arguments.signature,
                            .tag = arguments.tag};
    if (to.endpoint->send(header, arguments.data)) {
      ++to.next_sequence;
      to.credit -= eager_charge(size);
      return nullptr;
    }
  }
  return post_send_slowly(arguments, to);
}

Operation* Worker::post_send_slowly(const SendArguments& arguments, Peer& to) {
  Operation& operation = new_operation(Operation::Kind::send, arguments.group);
  operation.peer = &to;
  operation.context = arguments.group->context + (arguments.collective ? 1U : 0U);
  operation.signature = arguments.signature;
  operation.tag = arguments.tag;
  operation.buffer = const_cast<std::byte*>(arguments.data.data());
  operation.size = arguments.data.size();
  operation.synchronous = arguments.synchronous;
  return launch(operation, arguments.then);
}

Operation* Worker::post_recv(const RecvArguments& arguments) {
  Group& group = *arguments.group;
  Operation& operation = new_operation(Operation::Kind::recv, &group);
  operation.context = group.context + (arguments.collective ? 1U : 0U);
  operation.signature = arguments.signature;
  operation.source = arguments.from == any_source ? any_source : group.to_world(arguments.from);
  operation.tag = arguments.tag;
  operation.buffer = arguments.data.data();
  operation.size = arguments.data.size();
  if (group.broken) return defer(operation, group.error.code(), group.error.message(), arguments.then);
  if (Unexpected* message = matcher_.take(operation.context, operation.source, operation.tag)) {
    receive_unexpected(*this, operation, *message);
  } else {
    const Peer* from = operation.source == any_source ? nullptr : find_peer(operation.source);
    if (from != nullptr && from->state == Peer::State::lost) {
      const ErrorCode code = from->lost_status == ErrorCode::ok ? ErrorCode::peer_failed : from->lost_status;
      return defer(operation, code, lost_words(*from), arguments.then);
    }
    if (const Peer* failed = died_ > 0 && operation.source == any_source ? failed_member(group) : nullptr)
      return defer(operation, failed->lost_status, lost_words(*failed), arguments.then);
    matcher_.post(operation);
  }
  if (operation.done() && arguments.then.on_complete != nullptr) {
    if (operation.status != ErrorCode::ok)
      return defer(operation, operation.status, std::move(operation.detail), arguments.then);
    release(operation);
    return nullptr;
  }
  operation.on_complete = arguments.then.on_complete;
  operation.owner = arguments.then.owner;
  return &operation;
}

Operation* Worker::post_active(Group& group, std::span<const std::byte> data, Rank to, std::uint16_t handler) {
  Operation& operation = new_operation(Operation::Kind::active, &group);
  operation.peer = &peer(group.to_world(to));
  operation.context = group.context;
  operation.tag = handler;
  operation.buffer = const_cast<std::byte*>(data.data());
  operation.size = data.size();
  return launch(operation, {});
}

// --- one-sided -------------------------------------------------------------------------------------------------

void Worker::import_key(RemoteRegion& target, Peer& owner) {
  for (const auto& [name, key] : target.keys)
    if (name == owner.transport->name()) target.handle = owner.endpoint->import_key(key);
  target.imported = true;
}

inline Operation& Worker::new_one_sided(Operation::Kind kind, RemoteRegion& target, std::uint64_t offset,
                                        std::uint64_t size, Group* group) {
  Operation& operation = new_operation(kind, group);
  Peer& owner = peer(target.owner);
  operation.peer = &owner;
  operation.size = size;
  operation.slot = target.slot;
  operation.offset = offset;
  operation.remote.address = target.base + offset;
  if (!target.imported && owner.state == Peer::State::ready) [[unlikely]]
    import_key(target, owner);
  if (target.imported) [[likely]] {
    operation.reachable = target.handle.has_value();
    operation.remote.handle = target.handle.value_or(0);
  } else if (owner.transport != nullptr) {
    keep_key(operation, target);
  }
  return operation;
}

// It is imported when the endpoint is connected.
void Worker::keep_key(Operation& operation, const RemoteRegion& target) {
  for (const auto& [name, key] : target.keys)
    if (name == operation.peer->transport->name()) operation.key = key;
}

Mapping Worker::map(RemoteRegion& target) {
  Peer& owner = peer(target.owner);
  if (owner.state == Peer::State::connecting) return {Mapping::State::later, {}};
  if (owner.state == Peer::State::lost) return {};
  if (!target.imported) import_key(target, owner);
  if (!target.handle) return {};
  return owner.endpoint->map({target.base, *target.handle}, target.size);
}

Operation* Worker::post_put_slowly(RemoteRegion& target, std::span<const std::byte> data, std::uint64_t offset,
                                   std::optional<std::uint32_t> imm, Group* group) {
  Operation& operation = new_one_sided(Operation::Kind::put, target, offset, data.size(), group);
  operation.buffer = const_cast<std::byte*>(data.data());
  operation.notify = imm;
  return launch(operation, {});
}

Operation* Worker::post_get(RemoteRegion& target, std::span<std::byte> data, std::uint64_t offset, Group* group) {
  if (data.empty()) return nullptr;
  Endpoint* const way = open_way(target, group);
  if (way != nullptr && way->get(data, {target.base + offset, *target.handle})) [[likely]]
    return nullptr;
  Operation& operation = new_one_sided(Operation::Kind::get, target, offset, data.size(), group);
  operation.buffer = data.data();
  if (way != nullptr && data.size() <= operation.peer->capabilities.max_rdma &&
      way->begin_get(data, operation.remote, operation.id)) [[likely]] {
    started_get(*this, operation);
    return &operation;
  }
  return launch(operation, {});
}

Operation* Worker::post_atomic(Operation::Kind kind, RemoteRegion& target, std::uint64_t offset, std::uint32_t width,
                               std::uint64_t operand, std::uint64_t compare, std::uint64_t* result, Group* group) {
  const bool by_adapter = width == 8 && target.domain() == AtomicsDomain::adapter;
  if (by_adapter && target.adapter_way != nullptr && may_start(*target.adapter_way, group)) {
    Operation& operation = new_operation(kind, group);
    operation.peer = target.adapter_way;
    operation.remote = {target.base + offset, target.adapter_handle};
    operation.operand = operand;
    operation.compare = compare;
    operation.result = result;
    start_adapter_atomic(*this, operation);
    return &operation;
  }
  if (Endpoint* way = width == 8 && !by_adapter ? open_way(target, group) : nullptr; way != nullptr) [[likely]] {
    const Op op = kind == Operation::Kind::fetch_add ? Op::fetch_add : Op::compare_swap;
    std::uint64_t before = 0;
    if (way->atomic(op, {target.base + offset, *target.handle}, operand, compare, before)) {
      if (result != nullptr) *result = before;
      return nullptr;
    }
  }
  Operation& operation = new_one_sided(kind, target, offset, width, group);
  if (by_adapter) aim_at_adapter(operation, target);
  operation.width = width;
  operation.operand = operand;
  operation.compare = compare;
  operation.result = result;
  return launch(operation, {});
}

}  // namespace godwit::core
