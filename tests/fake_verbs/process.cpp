// Process: devices, faults, counters. Its objects are in resources.cpp.
#include "fake_verbs/process.hpp"

#include <endian.h>

#include <algorithm>
#include <cerrno>

#include "fake_verbs/device.hpp"
#include "fake_verbs/world.hpp"

namespace godwit::fake_verbs {
namespace {

constexpr const char* state_names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

}  // namespace

Process::Process(std::unique_ptr<ProcessState> state) : state_(std::move(state)) {}
Process::~Process() = default;

ibv_device** Process::get_device_list(int* count) noexcept {
  const std::lock_guard lock(state_->world->mutex);
  if (count != nullptr) *count = 0;
  if (const int error = state_->count(Call::get_device_list)) {
    errno = error;
    return nullptr;
  }
  std::vector<ibv_device*> list;
  for (const auto& device : state_->world->hosts.find(state_->host)->second) {
    if (!device->removed) list.push_back(device.get());
  }
  if (count != nullptr) *count = static_cast<int>(list.size());
  list.push_back(nullptr);
  ibv_device** const first = list.data();
  state_->lists.emplace(first, std::move(list));
  return first;
}

void Process::free_device_list(ibv_device** list) noexcept {
  const std::lock_guard lock(state_->world->mutex);
  if (state_->lists.erase(list) == 0) state_->world->defect(state_->name + ": a device list is freed twice");
}

const char* Process::get_device_name(ibv_device* device) noexcept { return device->name; }

ibv_context* Process::open_device(ibv_device* device) noexcept {
  auto& adapter = static_cast<Device&>(*device);
  const std::lock_guard lock(state_->world->mutex);
  int error = state_->count(Call::open_device);
  if (error == 0 && adapter.removed) error = ENODEV;
  if (error != 0) {
    errno = error;
    return nullptr;
  }
  auto context = std::make_unique<Context>();
  context->device = device;
  context->adapter = &adapter;
  context->process = state_.get();
  context->async_fd = context->events.descriptor();
  context->cmd_fd = -1;
  context->num_comp_vectors = 1;
  context->ops.post_send = post_send;
  context->ops.post_recv = post_recv;
  context->ops.post_srq_recv = post_srq_recv;
  context->ops.poll_cq = poll_cq;
  context->ops.req_notify_cq = req_notify_cq;
  return state_->contexts.add(std::move(context));
}

int Process::close_device(ibv_context* context) noexcept {
  auto* const own = static_cast<Context*>(context);
  const std::lock_guard lock(state_->world->mutex);
  if (const int error = state_->count(Call::close_device)) return error;
  if (!state_->contexts.has(own) || own->closed) {
    state_->world->defect(state_->name + ": close of a device that is not open");
    return EINVAL;
  }
  if (own->users > 0) {  // libibverbs closes it all the same
    state_->world->defect(state_->name + ": a device is closed with " + std::to_string(own->users) +
                          " domains, channels or completion queues");
    own->closed = true;
    return 0;
  }
  state_->contexts.remove(own);
  return 0;
}

int Process::query_device(ibv_context* context, ibv_device_attr* attributes) noexcept {
  const std::lock_guard lock(state_->world->mutex);
  const Context& own = static_cast<Context&>(*context);
  if (const int error = state_->count(Call::query_device)) return error;
  if (own.adapter->removed) return EIO;
  describe(*own.adapter, *attributes);
  return 0;
}

int Process::query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes) noexcept {
  const std::lock_guard lock(state_->world->mutex);
  const Context& own = static_cast<Context&>(*context);
  if (const int error = state_->count(Call::query_port)) return error;
  if (own.adapter->removed) return EIO;
  const Port* const found = own.adapter->port(port);
  if (found == nullptr) return EINVAL;
  describe(*found, *attributes);
  return 0;
}

ssize_t Process::query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t most) noexcept {
  const std::lock_guard lock(state_->world->mutex);
  const Context& own = static_cast<Context&>(*context);
  if (const int error = state_->count(Call::query_gid_table)) return -error;
  if (own.adapter->removed) return -EIO;
  const auto table = gid_table(*own.adapter);
  if (table.size() > most) return -EINVAL;
  std::copy(table.begin(), table.end(), entries);
  return static_cast<ssize_t>(table.size());
}

int Process::query_pkey(ibv_context* context, std::uint8_t port, int index, std::uint16_t* key) noexcept {
  const std::lock_guard lock(state_->world->mutex);
  const Context& own = static_cast<Context&>(*context);
  if (const int error = state_->count(Call::query_pkey)) return error;
  const Port* const found = own.adapter->removed ? nullptr : own.adapter->port(port);
  if (found == nullptr || index < 0 || static_cast<std::size_t>(index) >= found->facts.pkeys.size()) return EINVAL;
  *key = htobe16(found->facts.pkeys[static_cast<std::size_t>(index)]);
  return 0;
}

std::string Process::read_attribute(ibv_device* device, const char* path) noexcept {
  const std::lock_guard lock(state_->world->mutex);
  return attribute(static_cast<Device&>(*device), path);
}

int Process::fork_init() noexcept {
  const std::lock_guard lock(state_->world->mutex);
  if (const int error = state_->count(Call::fork_init)) return error;
  if (state_->registered && !state_->forked) return EINVAL;  // too late
  state_->forked = true;
  return 0;
}

int Process::get_async_event(ibv_context* context, ibv_async_event* event) noexcept {
  auto& own = static_cast<Context&>(*context);
  {
    const std::lock_guard lock(state_->world->mutex);
    if (const int error = state_->count(Call::get_async_event)) {
      errno = error;
      return -1;
    }
  }
  const auto count_it = [](const ibv_async_event& taken) {
    if (QueuePair* const pair = pair_of(taken)) ++pair->unacknowledged;
    if (taken.event_type == IBV_EVENT_CQ_ERR) ++static_cast<CompletionQueue*>(taken.element.cq)->unacknowledged;
  };
  return own.events.pop(state_->world->mutex, *event, count_it) ? 0 : -1;
}

void Process::ack_async_event(ibv_async_event* event) noexcept {
  const std::lock_guard lock(state_->world->mutex);
  if (QueuePair* const pair = pair_of(*event)) --pair->unacknowledged;
  if (event->event_type == IBV_EVENT_CQ_ERR) --static_cast<CompletionQueue*>(event->element.cq)->unacknowledged;
  state_->world->acknowledged.notify_all();
}

ibv_fork_status Process::is_fork_initialized() noexcept {
  const std::lock_guard lock(state_->world->mutex);
  if (!state_->fork_unsafe) return IBV_FORK_UNNEEDED;
  return state_->forked ? IBV_FORK_ENABLED : IBV_FORK_DISABLED;
}

std::vector<verbs::NetInterface> Process::net_interfaces() noexcept {
  const std::lock_guard lock(state_->world->mutex);
  const auto found = state_->world->interfaces.find(state_->host);
  return found == state_->world->interfaces.end() ? std::vector<verbs::NetInterface>{} : found->second;
}

void Process::require_fork_init() {
  const std::lock_guard lock(state_->world->mutex);
  state_->fork_unsafe = true;
}

void Process::fail(Call call, unsigned nth, int error, unsigned times) {
  const std::lock_guard lock(state_->world->mutex);
  const std::uint64_t first = state_->counters.of(call) + nth;
  state_->faults[static_cast<std::size_t>(call)] = {first, first + times - 1, error};
}

void Process::fail_request(ibv_wr_opcode opcode, unsigned nth, ibv_wc_status status, Executed executed) {
  const std::lock_guard lock(state_->world->mutex);
  state_->forced.push_back({opcode, nth, status, executed});
}

void Process::fail_receive(unsigned nth, ibv_wc_status status) {
  const std::lock_guard lock(state_->world->mutex);
  state_->forced_receives.emplace_back(nth, status);
}

void Process::lose_completion(unsigned nth) {
  const std::lock_guard lock(state_->world->mutex);
  state_->lost_completion = nth;
}

void Process::hold_completions(bool held) {
  const std::lock_guard lock(state_->world->mutex);
  if (held) {
    state_->late = true;
  } else {
    state_->release_completions();
  }
}

void Process::limit_registered(std::size_t bytes) {
  const std::lock_guard lock(state_->world->mutex);
  state_->most_registered = bytes;
}

Counters Process::counters() const {
  const std::lock_guard lock(state_->world->mutex);
  Counters counters = state_->counters;
  counters.contexts = state_->contexts.size();
  counters.domains = state_->domains.size();
  counters.regions = state_->regions.size();
  counters.channels = state_->channels.size();
  counters.completion_queues = state_->completion_queues.size();
  counters.receive_queues = state_->receive_queues.size();
  counters.queue_pairs = state_->queue_pairs.size();
  return counters;
}

std::vector<std::string> Process::leaks() const {
  const std::lock_guard lock(state_->world->mutex);
  return state_->leaks();
}

std::vector<std::string> ProcessState::leaks() const {
  std::vector<std::string> found;
  const auto several = [&](std::size_t count, const char* what) {
    for (std::size_t i = 0; i < count; ++i) found.emplace_back(what);
  };
  for (const auto& [key, pair] : queue_pairs) {
    found.push_back("queue pair " + std::to_string(pair->qp_num) + " in " + state_names[pair->condition]);
  }
  for (const auto& [key, region] : regions) found.push_back("region of " + std::to_string(region->length) + " bytes");
  several(receive_queues.size(), "shared receive queue");
  several(completion_queues.size(), "completion queue");
  several(channels.size(), "completion channel");
  several(domains.size(), "protection domain");
  several(contexts.size(), "context");
  several(lists.size(), "device list");
  return found;
}

}  // namespace godwit::fake_verbs
