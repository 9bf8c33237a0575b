// Probes, matched receives, cancel; groups and what came early for them.
#include <algorithm>
#include <iterator>

#include "core/protocols/handlers.hpp"
#include "core/worker.hpp"

namespace godwit::core {

std::optional<MessageInfo> Worker::probe(Group& group, Rank from, Tag tag) {
  progress();
  const Rank source = from == any_source ? any_source : group.to_world(from);
  const Unexpected* message = matcher_.find(group.context, source, tag);
  if (message == nullptr) return std::nullopt;
  return MessageInfo{group.to_group(message->source), message->tag, message->size};
}

Operation* Worker::probe_matched(Group& group, Rank from, Tag tag) {
  progress();
  const Rank source = from == any_source ? any_source : group.to_world(from);
  Unexpected* message = matcher_.take(group.context, source, tag);
  if (message == nullptr) return nullptr;
  Operation& operation = new_operation(Operation::Kind::recv, &group);
  operation.context = group.context;
  operation.signature = message->signature;
  operation.source = message->source;
  operation.tag = message->tag;
  operation.matched = message;
  operation.state = Operation::State::moving;
  operation.info = {group.to_group(message->source), message->tag, message->size};
  return &operation;
}

void Worker::receive_matched(Operation& operation, std::span<std::byte> data) {
  Unexpected& message = *std::exchange(operation.matched, nullptr);
  if (operation.done()) {  // its communicator has been aborted
    grant_credit(*message.peer, message.charged);
    if (message.kind == MessageKind::ready_to_send) refuse(*message.peer, message.announcement, operation.status);
    return matcher_.recycle(message);
  }
  operation.buffer = data.data();
  operation.size = data.size();
  receive_unexpected(*this, operation, message);
}

void Worker::discard_matched(Operation& operation) noexcept {
  // The sender of a rendezvous is told that its data is received: a receive of nothing.
  const bool pending = !operation.done();
  operation.abandoned = pending;  // then its completion, which may come at once, releases it
  receive_matched(operation, {});
  if (!pending) release(operation);
}

bool Worker::cancel(Operation& operation) {
  if (operation.kind != Operation::Kind::recv || operation.state != Operation::State::posted) return false;
  complete(operation, ErrorCode::cancelled, "the receive was cancelled");
  return true;
}

// --- groups ------------------------------------------------------------------------------------------------------

Group* Worker::find_group(std::uint32_t context) noexcept {
  const auto found = groups_.find(context & ~1U);
  return found == groups_.end() ? nullptr : found->second.get();
}

Group& Worker::add_group(Group group) {
  const std::uint32_t context = group.context;
  if (context < first_temporary_context) next_context_ = std::max(next_context_, context + 2);
  claimed_.erase(context);
  Group& added = *groups_.emplace(context, std::make_unique<Group>(std::move(group))).first->second;
  if (const auto early = early_aborts_.find(context); early != early_aborts_.end()) {
    const EarlyAbort abort = std::move(early->second);
    early_aborts_.erase(early);
    handle_abort(peer(abort.from), context, abort.message, abort.words);
  }
  return added;
}

// Those that nobody will receive.
void Worker::drop_messages(Group& group) {
  matcher_.for_each_unexpected([&](Unexpected& message) {
    if ((message.context & ~1U) != group.context) return;
    matcher_.unlink(message);
    grant_credit(*message.peer, message.charged);
    if (message.kind == MessageKind::ready_to_send) refuse(*message.peer, message.announcement, group);
    matcher_.recycle(message);
  });
  drop_early(group);
  std::erase_if(awaited_, [&](const Awaited& entry) { return entry.context == group.context + 1; });
}

void Worker::remove_group(Group& group) noexcept {
  drop_messages(group);
  const auto node = groups_.find(group.context);
  retired_groups_.push_back(std::move(node->second));
  groups_.erase(node);
  if (!in_handler_) purge_groups();  // the running handler may belong to it
}

void Worker::purge_groups() {
  const auto used = [&](const std::unique_ptr<Group>& retired) {
    return std::any_of(active_.begin(), active_.end(),
                       [&](const Operation& operation) { return operation.group == retired.get(); });
  };
  const auto unused = std::stable_partition(retired_groups_.begin(), retired_groups_.end(), used);
  // Handlers may own communicators: destroying them comes back here, so the list must be in order before.
  std::vector<std::unique_ptr<Group>> dead(std::make_move_iterator(unused),
                                           std::make_move_iterator(retired_groups_.end()));
  retired_groups_.erase(unused, retired_groups_.end());
}

bool Worker::claim_context(std::uint32_t context) {
  if (groups_.contains(context) || !claimed_.insert(context).second) return false;
  next_context_ = std::max(next_context_, context + 2);
  return true;
}

bool Worker::is_gone(std::uint32_t context) noexcept {
  const std::uint32_t even = context & ~1U;
  return even < first_temporary_context && even < next_context_ && !claimed_.contains(even) && !groups_.contains(even);
}

}  // namespace godwit::core
