// Atomics that the adapter of the target's owner executes: the way there, beside that of all other operations.
//
// All 64-bit atomics on a region of this domain are executed by one adapter, also those of the owner and of ranks on
// its host. Where the owner is reached over another transport (self, shm), atomics have a second Peer with an endpoint
// of the adapter's; it carries nothing else. Who cannot reach the adapter asks the owner, which asks its adapter.
#include <algorithm>

#include "core/protocols/handlers.hpp"
#include "core/worker.hpp"

namespace godwit::core {

namespace {

// An atomic that the owner has its adapter execute for another rank.
struct Errand {
  Worker& worker;
  Peer& asking;
  OperationId theirs;
  std::uint64_t before = 0;
};

void answer(Worker& worker, Peer& asking, const AtomicReply& reply) {
  worker.send_control(asking, worker.header(asking, MessageKind::atomic_reply), wire_bytes(reply));
}

void finish_errand(Operation& operation, void* owner) noexcept {
  const std::unique_ptr<Errand> errand(static_cast<Errand*>(owner));
  Worker& worker = errand->worker;
  const ErrorCode status = operation.status;
  if (status != ErrorCode::ok)
    worker.services().log.error("an atomic for {}: {}", worker.name_of(errand->asking.rank), operation.detail);
  worker.release(operation);
  if (status == ErrorCode::cancelled) return;  // this rank leaves: its good-bye says so
  answer(worker, errand->asking, {errand->theirs, errand->before, status, {}});
}

}  // namespace

bool Worker::all_visible(const Peer& to) noexcept {
  return to.rma_outstanding == 0 && to.unposted == 0 && to.waiting.empty() && to.held.empty();
}

Peer* Worker::find_adapter_peer(Rank owner) noexcept {
  const auto found = adapter_peers_.find(owner);
  return found == adapter_peers_.end() ? nullptr : found->second.get();
}

// Whose endpoint this transport's is.
Peer& Worker::peer_of(Rank rank_in_job, const Transport& over) {
  Peer* const second = find_adapter_peer(rank_in_job);
  return second != nullptr && second->transport == &over ? *second : peer(rank_in_job);
}

Peer* Worker::adapter_peer(Rank owner, std::string_view transport) {
  Peer& usual = peer(owner);
  if (usual.transport != nullptr && usual.transport->name() == transport) return &usual;
  two_ways_ = true;
  std::unique_ptr<Peer>& second = adapter_peers_[owner];
  if (!second) {
    second = std::make_unique<Peer>();
    second->rank = owner;
    second->adapter_only = true;
    open_to_adapter(*second, transport);
  }
  return second->endpoint ? second.get() : nullptr;
}

void Worker::open_to_adapter(Peer& to, std::string_view name) {
  std::string why = fmt::format("there is no transport {} here", name);
  try {
    const Card& card = directory_.card(to.rank);
    for (const auto& transport : transports_) {
      if (transport->name() != name) continue;
      const PeerInfo info{to.rank, &card, card.address_of(name)};
      const Reach reach = transport->reaches(info);
      if (reach.ok) return attach(to, *transport, info);
      why = fmt::format("{}: {}", name, reach.reason);
    }
  } catch (const Error& error) {
    why = error.what();
  }
  services_.log.info("to {}: its adapter is not reached from here, so it is asked by messages for atomics: {}",
                     name_of(to.rank), why);
}

void Worker::aim_at_adapter(Operation& operation, RemoteRegion& target) {
  operation.domain = AtomicsDomain::adapter;
  const auto& [name, key] = target.keys[target.adapter_key - 1];
  Peer* const way = adapter_peer(target.owner, name);
  operation.reachable = false;
  operation.key.reset();
  if (way == nullptr) return;  // the owner is asked
  operation.peer = way;
  operation.key = key;
  if (way->state != Peer::State::ready || way->capabilities.atomics != AtomicsDomain::adapter) return;
  const auto handle = way->endpoint->import_key(key);
  if (!handle || !way->endpoint->has_atomics(*handle)) return;
  target.adapter_way = way;  // from now on without all this
  target.adapter_handle = *handle;
}

// The endpoint to the adapter cannot do it after all, which shows when it is connected.
void Worker::send_to_owner(Operation& operation) {
  const Rank owner = operation.peer->rank;
  if (owner == job_.rank)
    return complete(operation, ErrorCode::not_supported, "this rank's own adapter is not reached for an atomic");
  Peer& usual = peer(owner);
  operation.peer = &usual;
  operation.key.reset();
  if (usual.state == Peer::State::lost)
    return complete(operation, usual.lost_status == ErrorCode::ok ? ErrorCode::peer_failed : usual.lost_status,
                    lost_words(usual));
  if (usual.state == Peer::State::ready && usual.waiting.empty()) return start(operation);
  operation.state = Operation::State::connecting;
  usual.waiting.push_back(operation);
}

void Worker::ask_own_adapter(Peer& asking, const AtomicRequest& wish) {
  const RegionEntry& entry = *regions_.find(wish.slot);
  const auto& [transport, registration] = entry.registrations[entry.adapter_key - 1U];
  Peer* const way = adapter_peer(job_.rank, transport->name());
  if (way == nullptr) return answer(*this, asking, {wish.operation, 0, ErrorCode::not_supported, {}});
  Operation& operation =
      new_operation(wish.swap == 0 ? Operation::Kind::fetch_add : Operation::Kind::compare_swap, nullptr);
  operation.peer = way;
  operation.size = wish.width;
  operation.domain = AtomicsDomain::adapter;
  operation.key = registration.key;
  operation.remote.address = reinterpret_cast<std::uint64_t>(entry.memory.data()) + wish.offset;
  operation.operand = wish.operand;
  operation.compare = wish.compare;
  auto errand = std::make_unique<Errand>(Errand{*this, asking, wish.operation});
  operation.result = &errand->before;
  if (launch(operation, {finish_errand, errand.get()}) == nullptr)
    return answer(*this, asking, {wish.operation, errand->before, ErrorCode::ok, {}});
  (void)errand.release();  // finish_errand()'s
}

// The one that would be chosen for all but atomics.
bool Worker::carries(const Transport& transport, Rank rank_in_job) {
  try {
    const Card& card = directory_.card(rank_in_job);
    for (const auto& each : transports_)
      if (each->reaches({rank_in_job, &card, card.address_of(each->name())}).ok) return each.get() == &transport;
  } catch (const Error& error) {
    services_.log.debug("{}: its card cannot be read: {}", name_of(rank_in_job), error.what());
  }
  return true;
}

void Worker::on_lost_over(const Completion& completion, const Transport& over) {
  Peer* const second = find_adapter_peer(completion.peer);
  if (second != nullptr && second->transport == &over)
    return lose(*second, completion.status, completion.detail, LossSeenBy::transport);
  // It had reached for our adapter only, and we reach it another way.
  const Peer* const known = find_peer(completion.peer);
  if (known == nullptr ? !carries(over, completion.peer) : known->transport != nullptr && known->transport != &over)
    return;
  on_lost(completion.peer, completion.status, completion.detail, LossSeenBy::transport);
}

}  // namespace godwit::core
