// Asynchronous events.
#include "fake_verbs/world.hpp"

namespace godwit::fake_verbs {
namespace {

/// Every open context of the device, in all processes.
template <class Act>
void each_context(const Device& device, Act act) {
  for (const auto& process : device.world->processes) {
    ProcessState& state = process->state();
    if (state.dead) continue;
    for (const auto& [key, context] : state.contexts) {
      if (context->adapter == &device && !context->closed) act(*context);
    }
  }
}

}  // namespace

QueuePair* pair_of(const ibv_async_event& event) {
  switch (event.event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_QP_LAST_WQE_REACHED: return static_cast<QueuePair*>(event.element.qp);
    default: return nullptr;
  }
}

void raise(QueuePair& pair, ibv_event_type type) {
  if (pair.home->process->dead) return;
  ibv_async_event event{};
  event.element.qp = &pair;
  event.event_type = type;
  pair.home->events.push(event);
}

void raise(CompletionQueue& queue, ibv_event_type type) {
  if (queue.owner->process->dead) return;
  ibv_async_event event{};
  event.element.cq = &queue;
  event.event_type = type;
  queue.owner->events.push(event);
}

void raise(const Port& port, ibv_event_type type) {
  each_context(*port.device, [&](Context& context) {
    ibv_async_event event{};
    event.element.port_num = static_cast<int>(port.facts.number);
    event.event_type = type;
    context.events.push(event);
  });
}

void raise(const Device& device, ibv_event_type type) {
  each_context(device, [&](Context& context) {
    ibv_async_event event{};
    event.event_type = type;
    context.events.push(event);
  });
}

}  // namespace godwit::fake_verbs
