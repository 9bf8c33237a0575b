// Active messages: running their handlers, and what waits for a handler or for memory.
#include <exception>

#include "core/protocols/handlers.hpp"
#include "core/worker.hpp"

namespace godwit::core {

void Worker::deliver_active(std::uint32_t context, std::uint16_t id, Peer& source, std::span<const std::byte> payload,
                            std::size_t charged) {
  if (is_gone(context)) return grant_credit(source, charged);
  Group* group = find_group(context);
  const auto handler = group == nullptr ? decltype(group->handlers.begin()){} : group->handlers.find(id);
  if (group != nullptr && group->broken) return grant_credit(source, charged);
  if (group == nullptr || handler == group->handlers.end()) {
    Unexpected& message = matcher_.acquire();
    message.kind = MessageKind::active;
    message.charged = charged;
    message.data.assign(payload.begin(), payload.end());
    return keep_early(context, id, source, message);
  }
  const bool outer = std::exchange(in_handler_, true);
  handler_thread_ = std::this_thread::get_id();
  try {
    handler->second(ActiveMessage{group->to_group(source.rank), payload});
  } catch (const std::exception& error) {
    abort_group(*group, ErrorCode::aborted,
                fmt::format("the handler of active message {} threw: {}", id, error.what()));
  } catch (...) {
    abort_group(*group, ErrorCode::aborted, fmt::format("the handler of active message {} threw", id));
  }
  in_handler_ = outer;
  if (!outer) {
    std::exchange(retired_handlers_, {});
    purge_groups();
  }
  grant_credit(source, charged);
}

void Worker::keep_early(std::uint32_t context, std::uint16_t id, Peer& source, Unexpected& message) {
  message.context = context & ~1U;
  message.source = source.rank;
  message.tag = id;
  message.peer = &source;
  early_active_[message.context].push_back(&message);
}

void Worker::set_handler(Group& group, std::uint16_t id, ActiveMessageHandler handler) {
  if (const auto known = group.handlers.find(id); known != group.handlers.end()) {
    // It may be the one that is running.
    if (in_handler_)
      retired_handlers_.push_back(group.handlers.extract(known));
    else
      group.handlers.erase(known);
  }
  if (!handler) return;
  group.handlers[id] = std::move(handler);
  const auto early = early_active_.find(group.context);
  if (early == early_active_.end()) return;
  std::vector<Unexpected*> messages;
  messages.swap(early->second);
  for (Unexpected* message : messages) {
    if (message->tag != id) {
      early_active_[group.context].push_back(message);
      continue;
    }
    if (message->kind == MessageKind::active)
      deliver_active(group.context, id, *message->peer, message->data, message->charged);
    else
      begin_active(*message->peer, message->context, message->tag, message->announcement);
    matcher_.recycle(*message);
  }
  if (group.broken) drop_early(group);  // by one of the handlers
}

void Worker::drop_handlers() noexcept {
  std::vector<std::map<std::uint16_t, ActiveMessageHandler>> handlers;
  for (const auto& [context, group] : groups_) handlers.push_back(std::exchange(group->handlers, {}));
}

// --- large ones ------------------------------------------------------------------------------------------------

void Worker::receive_active(Peer& source, const WireHeader& header, const ReadyToSend& announcement) {
  if (is_gone(header.context)) return refuse(source, announcement, ErrorCode::aborted);
  Group* group = find_group(header.context);
  const auto id = static_cast<std::uint16_t>(header.tag);
  if (group != nullptr && group->broken) return refuse(source, announcement, *group);
  if (group != nullptr && group->handlers.contains(id)) return begin_active(source, header.context, id, announcement);
  Unexpected& message = matcher_.acquire();
  message.kind = MessageKind::ready_to_send;
  message.announcement = announcement;
  keep_early(header.context, id, source, message);
}

// As much at a time as a sender may have in eager messages, or a single longer one.
void Worker::begin_active(Peer& source, std::uint32_t context, Tag id, const ReadyToSend& announcement) {
  // Behind one that waits already, or it would never get its turn.
  if (!waiting_active_.empty() ||
      (incoming_active_ > 0 &&
       announcement.size > options_.eager_window->value - std::min(incoming_active_, options_.eager_window->value))) {
    Unexpected& message = matcher_.acquire();
    message.context = context;
    message.tag = id;
    message.peer = &source;
    message.announcement = announcement;
    waiting_active_.push_back(&message);
    busy_ = true;
    return;
  }
  std::unique_ptr<std::byte[]> buffer(new (std::nothrow) std::byte[announcement.size]);
  if (!buffer) {
    services_.log.error("no memory for an active message of {} bytes from {}", announcement.size, name_of(source.rank));
    return refuse(source, announcement, ErrorCode::no_memory);
  }
  Operation& incoming = new_operation(Operation::Kind::active, nullptr);
  incoming.abandoned = true;
  incoming.context = context;
  incoming.tag = id;
  incoming.size = announcement.size;
  incoming.own_buffer = std::move(buffer);
  incoming.buffer = incoming.own_buffer.get();
  incoming_active_ += incoming.size;
  begin_receive(*this, incoming, source, announcement);
}

void Worker::start_waiting_active() {
  std::deque<Unexpected*> messages;
  messages.swap(waiting_active_);  // those that still do not fit come back, in their order
  for (Unexpected* message : messages) {
    if (message->peer->state != Peer::State::lost)
      begin_active(*message->peer, message->context, message->tag, message->announcement);
    matcher_.recycle(*message);
  }
}

void Worker::refuse(Peer& sender, const ReadyToSend& announcement, ErrorCode code) {
  const Finished answer{announcement.operation, code};
  send_control(sender, header(sender, MessageKind::finished), wire_bytes(answer));
}

void Worker::refuse(Peer& sender, const ReadyToSend& announcement, Group& broken) {
  if (broken.broken) tell_verdict(broken, sender);
  refuse(sender, announcement, broken.broken ? broken.error.code() : ErrorCode::aborted);
}

void Worker::drop_early(Group& group) noexcept {
  const auto early = early_active_.find(group.context);
  if (early == early_active_.end()) return;
  for (Unexpected* message : early->second) {
    grant_credit(*message->peer, message->charged);
    if (message->kind == MessageKind::ready_to_send) refuse(*message->peer, message->announcement, group);
    matcher_.recycle(*message);
  }
  early_active_.erase(early);
}

}  // namespace godwit::core
