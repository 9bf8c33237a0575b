// What happens when a peer is lost or a communicator is aborted.
#include <algorithm>

#include "core/protocols/handlers.hpp"
#include "core/worker.hpp"

namespace godwit::core {

// --- lost peers ------------------------------------------------------------------------------------------------

void Worker::notify_peer_failed(Rank rank_in_job, std::string reason) {
  {
    const std::lock_guard guard(notify_mutex_);
    notifications_.emplace_back(rank_in_job, std::move(reason));
  }
  notified_.store(true, std::memory_order_release);
  wake();
}

void Worker::on_lost(Rank rank_in_job, ErrorCode status, std::string_view detail, LossSeenBy seen_by) {
  // Not peer(): a connection is not opened in order to bury it.
  std::unique_ptr<Peer>& entry = peers_[static_cast<std::size_t>(rank_in_job)];
  if (!entry) {
    entry = std::make_unique<Peer>();
    entry->rank = rank_in_job;
  }
  lose(*entry, status, detail, seen_by);
  // What was posted on the second way ends when its transport sees the end, too.
  if (Peer* second = find_adapter_peer(rank_in_job)) lose(*second, status, detail, LossSeenBy::others);
}

void Worker::lose(Peer& lost, ErrorCode status, std::string_view detail, LossSeenBy seen_by) {
  if (lost.state == Peer::State::lost) {  // the first verdict stands
    if (seen_by == LossSeenBy::transport) fail_operations(lost, seen_by);
    return;
  }
  lost.state = Peer::State::lost;
  lost.lost_status = status;
  lost.lost_reason = std::string(detail);
  drop_pending(lost);
  if (lost.adapter_only) return fail_operations(lost, seen_by);
  if (status != ErrorCode::ok) ++died_;
  release_taken_back(&lost);
  handle_early(lost);  // it had sent them before
  for (Mismatch& mismatch : mismatches_)
    if (mismatch.source == lost.rank) mismatch.deadline_ms = 0;  // it will not answer
  fail_operations(lost, seen_by);
}

// Requests that were never posted do not complete.
void Worker::drop_pending(Peer& lost) {
  for (const WorkRequest& request : lost.pending)
    if (Operation* operation = pool_.find(request.cookie); operation != nullptr && operation->in_flight > 0)
      --operation->in_flight;
  lost.pending.clear();
}

void Worker::protocol_error(Peer& from, std::string_view words) {
  if (from.state == Peer::State::lost) return;
  const std::string reason = fmt::format("{} sent what it must not: {}", name_of(from.rank), words);
  services_.log.error("{}", reason);
  on_lost(from.rank, ErrorCode::transport, reason, LossSeenBy::others);
}

void Worker::send_failed(Operation& operation, ErrorCode status, std::string_view detail) {
  if (operation.in_flight > 0) --operation.in_flight;  // else it asked for no completion
  connection_failed(*operation.peer, status, detail);
}

void Worker::connection_failed(Peer& to, ErrorCode status, std::string_view detail) {
  if (to.state == Peer::State::lost) return fail_operations(to, LossSeenBy::others);
  const std::string reason = fmt::format("what was posted to {} failed, so the connection is given up: {}",
                                         name_of(to.rank), detail.empty() ? to_string(status) : detail);
  services_.log.error("{}", reason);
  if (to.adapter_only) return lose(to, status, reason, LossSeenBy::others);
  on_lost(to.rank, status, reason, LossSeenBy::others);
}

void Worker::fail_operations(Peer& lost, LossSeenBy seen_by) {
  const bool died = lost.lost_status != ErrorCode::ok;
  const ErrorCode code = died ? lost.lost_status : ErrorCode::peer_failed;
  const std::string words = lost_words(lost);
  std::vector<OperationId> concerned;
  for (Operation& operation : active_) {
    const bool bound = operation.peer == &lost;
    const bool waits = !lost.adapter_only && operation.kind == Operation::Kind::recv &&
                       operation.state == Operation::State::posted &&
                       (operation.source == lost.rank ||
                        (died && operation.source == any_source && operation.group->to_group(lost.rank) != any_source));
    if (bound || waits) concerned.push_back(operation.id);
  }
  // A callback may complete or release others of them: look each one up again.
  for (const OperationId id : concerned) {
    Operation* operation = pool_.find(id);
    if (operation == nullptr || operation->done()) continue;
    if (operation->peer == &lost && seen_by == LossSeenBy::transport) operation->in_flight = 0;
    if (operation->failing && operation->in_flight == 0)
      finish(*operation, operation->status, std::move(operation->detail));
    else
      complete(*operation, code, words);
  }
}

bool Worker::has_failed(Rank rank_in_job) const noexcept {
  const Peer* known = peers_[static_cast<std::size_t>(rank_in_job)].get();
  return known != nullptr && known->state == Peer::State::lost && known->lost_status != ErrorCode::ok;
}

const Peer* Worker::failed_member(const Group& group) const noexcept {
  for (const auto& known : peers_)
    if (known && has_failed(known->rank) && group.to_group(known->rank) != any_source) return known.get();
  return nullptr;
}

// A peer that we only wait for may be one that we never talked to: connecting to it shows whether it lives.
void Worker::watch_sources() {
  constexpr int most_members = 128;
  std::vector<Rank> sources;
  for (const Operation& operation : active_) {
    if (operation.kind != Operation::Kind::recv || operation.state != Operation::State::posted) continue;
    if (operation.source != any_source)
      sources.push_back(operation.source);
    else if (operation.group->size() <= most_members)
      for (const Rank member : operation.group->world)
        if (member != job_.rank) sources.push_back(member);
  }
  for (const Rank source : sources)
    if (Peer& watched = peer(source); watched.state == Peer::State::lost) fail_operations(watched, LossSeenBy::others);
}

void Worker::check_members(const Group& group) {
  constexpr int most_members = 128;
  if (group.size() <= most_members)
    for (const Rank member : group.world)
      if (member != job_.rank) peer(member);
  if (const Peer* failed = failed_member(group)) throw Error(failed->lost_status, lost_words(*failed));
}

// --- aborted groups --------------------------------------------------------------------------------------------

void Worker::break_group(Group& group, ErrorCode code, const std::string& reason) {
  if (group.broken) return;
  group.error = Status(code, reason);
  group.broken = true;
  std::erase_if(mismatches_, [&](const Mismatch& mismatch) { return mismatch.context == group.context; });
  std::vector<OperationId> concerned;
  for (Operation& operation : active_)
    if (operation.group == &group) concerned.push_back(operation.id);
  for (const OperationId id : concerned) {
    Operation* operation = pool_.find(id);
    if (operation == nullptr || operation->done()) continue;
    if (operation->registration) take_back(*operation);
    complete(*operation, code, reason);
  }
  if (!has_left_) drop_messages(group);
}

// The peer may read announced memory at any time until it answers: without the registration that would end the
// connection. The buffer is the user's again when the peer has the verdict, so that it does not take what it read later
// for the message (docs/decisions/0011).
void Worker::take_back(Operation& operation) {
  Peer& reader = *operation.peer;
  if (has_left_ || reader.state != Peer::State::ready || operation.state != Operation::State::posted) return;
  taken_back_.emplace(operation.id, TakenBack{&reader, std::move(operation.registration)});
  tell_verdict(*operation.group, reader);
  submit_flush(reader, operation);
}

bool Worker::release_taken_back(const Peer& reader, OperationId id) noexcept {
  const auto found = taken_back_.find(id);
  if (found == taken_back_.end() || found->second.reader != &reader) return false;
  reader.transport->deregister_memory(*found->second.registration);
  taken_back_.erase(found);
  return true;
}

// nullptr: whoever reads.
void Worker::release_taken_back(const Peer* reader) noexcept {
  std::erase_if(taken_back_, [&](const auto& entry) {
    const TakenBack& memory = entry.second;
    if (reader != nullptr && memory.reader != reader) return false;
    memory.reader->transport->deregister_memory(*memory.registration);
    return true;
  });
}

void Worker::tell_verdict(Group& broken, Peer& to) {
  send_abort(broken, to.rank, {.code = broken.error.code(), .stage = AbortStage::relayed}, broken.error.message());
}

void Worker::send_abort(Group& group, Rank to, const AbortMessage& message, std::string_view words) {
  Peer& member = peer(to);
  if (member.state == Peer::State::lost) return;
  const std::size_t room =
      member.state == Peer::State::ready ? member.piece : smallest_max_message - sizeof(WireHeader);
  std::vector<std::byte> payload(std::min(room, sizeof message + std::min(words.size(), max_abort_words)));
  std::memcpy(payload.data(), &message, sizeof message);
  std::memcpy(payload.data() + sizeof message, words.data(), payload.size() - sizeof message);
  WireHeader head = header(member, MessageKind::abort);
  head.context = group.context;
  send_control(member, head, payload);
}

// Tells all members except ourselves and `but` (any_source: nobody else).
void Worker::announce_verdict(Group& group, Rank but, ErrorCode code, const std::string& reason) {
  for (Rank member = 0; member < group.size(); ++member) {
    const Rank to = group.to_world(member);
    if (to != job_.rank && to != but) send_abort(group, to, {.code = code}, reason);
  }
}

void Worker::abort_group(Group& group, ErrorCode code, const std::string& reason) {
  if (group.broken) return;
  services_.log.error("communicator {} is aborted: {}", group.context / 2, reason);
  announce_verdict(group, any_source, code, reason);
  break_group(group, code, reason);
}

void Worker::handle_abort(Peer& from, std::uint32_t context, const AbortMessage& message, std::string_view words) {
  Group* group = find_group(context);
  if (group == nullptr) {
    if (is_gone(context)) return;
    early_aborts_.insert_or_assign(context, EarlyAbort{from.rank, message, std::string(words)});
    return;
  }
  if (group->to_group(from.rank) == any_source)
    return protocol_error(from, fmt::format("an abort of communicator {}, to which it does not belong", context / 2));
  if (group->broken) return;
  if (message.stage == AbortStage::question || message.stage == AbortStage::answer) {
    if (message.stage == AbortStage::question)
      send_abort(*group, from.rank,
                 {.code = ErrorCode::mismatch, .stage = AbortStage::answer, .sequence = message.sequence},
                 own_call(*group, message.sequence));
    return end_mismatch(*group, from.rank, message.sequence, words);
  }
  const ErrorCode code = error_from_wire(message.code);
  const bool whole = code == ErrorCode::mismatch || message.stage == AbortStage::relayed;
  const std::string reason =
      whole ? std::string(words)
            : fmt::format("{} aborted communicator {}: {}", name_of(from.rank), context / 2, words);
  services_.log.error("{}", reason);
  break_group(*group, code, reason);
}

void on_abort(Worker& worker, Peer& peer, const WireHeader& header, std::span<const std::byte> payload) {
  const auto message = read_wire<AbortMessage>(payload);
  if (!message) return worker.protocol_error(peer, "abort is too short");
  worker.handle_abort(peer, header.context, *message, {reinterpret_cast<const char*>(payload.data()), payload.size()});
}

}  // namespace godwit::core
