// Process: creation and destruction of domains, regions, channels, queues and queue pairs, with their order.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

#include "fake_verbs/world.hpp"

namespace godwit::fake_verbs {
namespace {

std::nullptr_t refuse(int error) {
  errno = error;
  return nullptr;
}

int gone(ProcessState& state, const char* what) {
  state.world->defect(state.name + ": destruction of a " + what + " that does not exist");
  return EINVAL;
}

/// What libibverbs answers with EBUSY.
int busy(ProcessState& state, const char* what, unsigned users) {
  state.world->defect(state.name + ": destruction of a " + what + " that " + std::to_string(users) + " objects use");
  return EBUSY;
}

/// As libibverbs does, which waits for ever: another thread may have an event in hand.
int wait_for_acknowledgement(ProcessState& state, std::unique_lock<std::mutex>& lock, const char* what,
                             const unsigned& events) {
  World& world = *state.world;
  if (world.acknowledged.wait_for(lock, world.patience, [&] { return events == 0; })) return 0;
  world.defect(state.name + ": destruction of a " + what + " with " + std::to_string(events) +
               " events that were not acknowledged");
  return EBUSY;
}

int check_access(int access) {
  constexpr int known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                        IBV_ACCESS_REMOTE_ATOMIC | static_cast<int>(IBV_ACCESS_OPTIONAL_RANGE);
  if ((access & ~known) != 0) return EINVAL;
  const bool writes = (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0;
  return writes && (access & IBV_ACCESS_LOCAL_WRITE) == 0 ? EINVAL : 0;
}

int check_region(const ProcessState& state, const Device& device, std::size_t bytes, int access) {
  if (device.removed) return EIO;
  if (bytes == 0 || bytes > device.setup.facts.max_registration) return EINVAL;
  if (const int error = check_access(access)) return error;
  const bool fits = state.counters.registered_bytes <= state.most_registered &&
                    bytes <= state.most_registered - state.counters.registered_bytes;
  return fits && device.regions < device.setup.max_regions ? 0 : ENOMEM;
}

ibv_mr* add_region(ProcessState& state, Domain& domain, std::unique_ptr<Region> region) {
  region->context = domain.context;
  region->pd = &domain;
  region->owner = &domain;
  ++domain.users;
  ++domain.owner->adapter->regions;
  state.registered = true;
  state.counters.registered_bytes += region->length;
  state.world->regions.add(*region);
  return state.regions.add(std::move(region));
}

int check_pair(const Device& device, const ibv_qp_init_attr& wanted) {
  if (device.removed) return EIO;
  if (wanted.qp_type != IBV_QPT_RC) return EOPNOTSUPP;
  const ibv_qp_cap& cap = wanted.cap;
  const verbs::DeviceFacts& facts = device.setup.facts;
  const bool fits = wanted.send_cq != nullptr && wanted.recv_cq != nullptr && cap.max_send_wr > 0 &&
                    cap.max_send_wr <= facts.max_send_requests && cap.max_recv_wr <= facts.max_send_requests &&
                    cap.max_send_sge <= facts.max_sge && cap.max_recv_sge <= facts.max_sge &&
                    cap.max_inline_data <= device.setup.max_inline;
  if (!fits) return EINVAL;
  return device.queue_pairs < device.setup.max_queue_pairs ? 0 : ENOMEM;
}

}  // namespace

ibv_pd* Process::alloc_pd(ibv_context* context) noexcept {
  const std::lock_guard lock(state_->world->mutex);
  auto& owner = static_cast<Context&>(*context);
  if (const int error = state_->count(Call::alloc_pd)) return refuse(error);
  if (owner.adapter->removed) return refuse(EIO);
  auto domain = std::make_unique<Domain>();
  domain->context = context;
  domain->owner = &owner;
  ++owner.users;
  return state_->domains.add(std::move(domain));
}

int Process::dealloc_pd(ibv_pd* domain) noexcept {
  const std::lock_guard lock(state_->world->mutex);
  auto* const own = static_cast<Domain*>(domain);
  if (const int error = state_->count(Call::dealloc_pd)) return error;
  if (!state_->domains.has(own)) return gone(*state_, "protection domain");
  if (own->users > 0) return busy(*state_, "protection domain", own->users);
  --own->owner->users;
  state_->domains.remove(own);
  return 0;
}

ibv_mr* Process::reg_mr(ibv_pd* domain, void* address, std::size_t bytes, int access) noexcept {
  const std::lock_guard lock(state_->world->mutex);
  auto& owner = static_cast<Domain&>(*domain);
  if (const int error = state_->count(Call::reg_mr)) return refuse(error);
  if (const int error = check_region(*state_, *owner.owner->adapter, bytes, access)) return refuse(error);
  auto region = std::make_unique<Region>();
  region->addr = address;
  region->length = bytes;
  region->memory = static_cast<std::byte*>(address);
  region->iova = reinterpret_cast<std::uintptr_t>(address);
  region->access = access;
  return add_region(*state_, owner, std::move(region));
}

ibv_mr* Process::reg_dmabuf_mr(ibv_pd* domain, std::uint64_t offset, std::size_t bytes, std::uint64_t iova, int fd,
                               int access) noexcept {
  const std::lock_guard lock(state_->world->mutex);
  auto& owner = static_cast<Domain&>(*domain);
  if (const int error = state_->count(Call::reg_dmabuf_mr)) return refuse(error);
  if (!owner.owner->adapter->setup.dmabuf) return refuse(EOPNOTSUPP);
  if (const int error = check_region(*state_, *owner.owner->adapter, bytes, access)) return refuse(error);
  const std::uint64_t skipped = offset % static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  if (iova % 8 != offset % 8) return refuse(EINVAL);
  void* const mapping =
      mmap(nullptr, bytes + skipped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset - skipped));
  if (mapping == MAP_FAILED) return nullptr;  // errno says why
  auto region = std::make_unique<Region>();
  region->length = bytes;
  region->memory = static_cast<std::byte*>(mapping) + skipped;
  region->iova = iova;
  region->access = access;
  region->mapping = mapping;
  region->mapped = bytes + skipped;
  return add_region(*state_, owner, std::move(region));
}

int Process::dereg_mr(ibv_mr* region) noexcept {
  const std::lock_guard lock(state_->world->mutex);
  auto* const own = static_cast<Region*>(region);
  if (const int error = state_->count(Call::dereg_mr)) return error;
  if (!state_->regions.has(own)) return gone(*state_, "region");
  if (own->mapping != nullptr) munmap(own->mapping, own->mapped);
  --own->owner->users;
  --own->owner->owner->adapter->regions;
  state_->counters.registered_bytes -= own->length;
  state_->world->regions.remove(*own);
  state_->regions.remove(own);
  return 0;
}

ibv_comp_channel* Process::create_comp_channel(ibv_context* context) noexcept {
  const std::lock_guard lock(state_->world->mutex);
  auto& owner = static_cast<Context&>(*context);
  if (const int error = state_->count(Call::create_comp_channel)) return refuse(error);
  if (owner.adapter->removed) return refuse(EIO);
  auto channel = std::make_unique<Channel>();
  channel->context = context;
  channel->fd = channel->events.descriptor();
  channel->owner = &owner;
  ++owner.users;
  return state_->channels.add(std::move(channel));
}

int Process::destroy_comp_channel(ibv_comp_channel* channel) noexcept {
  const std::lock_guard lock(state_->world->mutex);
  auto* const own = static_cast<Channel*>(channel);
  if (const int error = state_->count(Call::destroy_comp_channel)) return error;
  if (!state_->channels.has(own)) return gone(*state_, "completion channel");
  if (own->users > 0) return busy(*state_, "completion channel", own->users);
  --own->owner->users;
  state_->channels.remove(own);
  return 0;
}

ibv_cq* Process::create_cq(ibv_context* context, int entries, void* cq_context, ibv_comp_channel* channel) noexcept {
  const std::lock_guard lock(state_->world->mutex);
  auto& owner = static_cast<Context&>(*context);
  if (const int error = state_->count(Call::create_cq)) return refuse(error);
  if (owner.adapter->removed) return refuse(EIO);
  if (entries < 1 || static_cast<unsigned>(entries) > owner.adapter->setup.facts.max_completions) return refuse(EINVAL);
  auto queue = std::make_unique<CompletionQueue>(&owner, static_cast<unsigned>(entries));
  queue->context = context;
  queue->cq_context = cq_context;
  queue->channel = channel;
  queue->cqe = entries;
  ++owner.users;
  if (channel != nullptr) ++static_cast<Channel*>(channel)->users;
  state_->counters.completion_entries += static_cast<std::size_t>(entries);
  return state_->completion_queues.add(std::move(queue));
}

int Process::destroy_cq(ibv_cq* queue) noexcept {
  std::unique_lock lock(state_->world->mutex);
  auto* const own = static_cast<CompletionQueue*>(queue);
  if (const int error = state_->count(Call::destroy_cq)) return error;
  if (!state_->completion_queues.has(own)) return gone(*state_, "completion queue");
  if (own->users > 0) return busy(*state_, "completion queue", own->users);
  if (const int error = wait_for_acknowledgement(*state_, lock, "completion queue", own->unacknowledged)) return error;
  if (own->channel != nullptr) {
    auto& channel = static_cast<Channel&>(*own->channel);
    channel.events.drop([&](const CompletionQueue* waiting) { return waiting == own; });
    --channel.users;
  }
  own->owner->events.drop(
      [&](const ibv_async_event& event) { return event.event_type == IBV_EVENT_CQ_ERR && event.element.cq == own; });
  --own->owner->users;
  state_->counters.completion_entries -= own->entries.size();
  state_->completion_queues.remove(own);
  return 0;
}

int Process::get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void** cq_context) noexcept {
  {
    const std::lock_guard lock(state_->world->mutex);
    if (const int error = state_->count(Call::get_cq_event)) {
      errno = error;
      return -1;
    }
  }
  CompletionQueue* ready = nullptr;
  const auto count_it = [](CompletionQueue* taken) { ++taken->unacknowledged; };
  if (!static_cast<Channel*>(channel)->events.pop(state_->world->mutex, ready, count_it)) return -1;
  *queue = ready;
  *cq_context = ready->cq_context;
  return 0;
}

void Process::ack_cq_events(ibv_cq* queue, unsigned count) noexcept {
  const std::lock_guard lock(state_->world->mutex);
  auto& own = static_cast<CompletionQueue&>(*queue);
  if (count > own.unacknowledged) {
    state_->world->defect(state_->name + ": more completion events acknowledged than there were");
    count = own.unacknowledged;
  }
  own.unacknowledged -= count;
  state_->world->acknowledged.notify_all();
}

ibv_srq* Process::create_srq(ibv_pd* domain, ibv_srq_init_attr* attributes) noexcept {
  const std::lock_guard lock(state_->world->mutex);
  auto& owner = static_cast<Domain&>(*domain);
  if (const int error = state_->count(Call::create_srq)) return refuse(error);
  const verbs::DeviceFacts& facts = owner.owner->adapter->setup.facts;
  if (owner.owner->adapter->removed) return refuse(EIO);
  const ibv_srq_attr& wanted = attributes->attr;
  if (wanted.max_wr < 1 || wanted.max_wr > facts.max_srq_requests || wanted.max_sge > facts.max_sge) {
    return refuse(EINVAL);
  }
  auto queue = std::make_unique<SharedReceiveQueue>(&owner, wanted.max_wr, wanted.max_sge);
  queue->context = domain->context;
  queue->srq_context = attributes->srq_context;
  queue->pd = domain;
  ++owner.users;
  state_->counters.receive_slots += wanted.max_wr;
  return state_->receive_queues.add(std::move(queue));
}

int Process::destroy_srq(ibv_srq* queue) noexcept {
  const std::lock_guard lock(state_->world->mutex);
  auto* const own = static_cast<SharedReceiveQueue*>(queue);
  if (const int error = state_->count(Call::destroy_srq)) return error;
  if (!state_->receive_queues.has(own)) return gone(*state_, "shared receive queue");
  if (own->users > 0) return busy(*state_, "shared receive queue", own->users);
  --own->owner->users;
  state_->counters.receive_slots -= own->queue.capacity;
  state_->receive_queues.remove(own);
  return 0;
}

ibv_qp* Process::create_qp(ibv_pd* domain, ibv_qp_init_attr* attributes) noexcept {
  const std::lock_guard lock(state_->world->mutex);
  auto& owner = static_cast<Domain&>(*domain);
  World& world = *state_->world;
  if (const int error = state_->count(Call::create_qp)) return refuse(error);
  if (const int error = check_pair(*owner.owner->adapter, *attributes)) return refuse(error);
  auto pair = std::make_unique<QueuePair>(&owner, *attributes);
  pair->qp_num = world.next_pair++;
  pair->hold = world.hold;
  ++owner.users;
  ++pair->sends->users;
  ++pair->receptions->users;
  if (pair->shared != nullptr) ++pair->shared->users;
  ++pair->device->queue_pairs;
  state_->counters.send_slots += pair->requests.size();
  state_->counters.receive_slots += pair->own_receives.capacity;
  world.pairs.emplace(pair->qp_num, pair.get());
  return state_->queue_pairs.add(std::move(pair));
}

int Process::modify_qp(ibv_qp* pair, ibv_qp_attr* attributes, int mask) noexcept {
  const std::lock_guard lock(state_->world->mutex);
  if (const int error = state_->count(Call::modify_qp)) return error;
  if (state_->dead) return 0;
  auto& own = static_cast<QueuePair&>(*pair);
  const int error = modify(*state_->world, own, *attributes, mask);
  if (error == 0) own.state = own.condition;
  return error;
}

int Process::query_qp(ibv_qp* pair, ibv_qp_attr* attributes, int /*mask*/, ibv_qp_init_attr* initial) noexcept {
  const std::lock_guard lock(state_->world->mutex);
  if (const int error = state_->count(Call::query_qp)) return error;
  auto& own = static_cast<QueuePair&>(*pair);
  *attributes = own.attributes;
  attributes->qp_state = attributes->cur_qp_state = own.state = own.condition;
  *initial = {own.qp_context, own.send_cq, own.recv_cq, own.srq, own.attributes.cap, own.qp_type, own.all_signalled};
  return 0;
}

int Process::destroy_qp(ibv_qp* pair) noexcept {
  std::unique_lock lock(state_->world->mutex);
  World& world = *state_->world;
  auto* const own = static_cast<QueuePair*>(pair);
  if (const int error = state_->count(Call::destroy_qp)) return error;
  if (!state_->queue_pairs.has(own)) return gone(*state_, "queue pair");
  if (const int error = wait_for_acknowledgement(*state_, lock, "queue pair", own->unacknowledged)) return error;
  own->home->events.drop([&](const ibv_async_event& event) { return pair_of(event) == own; });
  own->sends->forget(*own);
  own->receptions->forget(*own);
  world.forget(*own);
  --own->owner->users;
  --own->sends->users;
  --own->receptions->users;
  if (own->shared != nullptr) --own->shared->users;
  --own->device->queue_pairs;
  state_->counters.send_slots -= own->requests.size();
  state_->counters.receive_slots -= own->own_receives.capacity;
  state_->queue_pairs.remove(own);
  world.kick();
  return 0;
}

}  // namespace godwit::fake_verbs
