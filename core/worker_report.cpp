// Words: who waits for whom, since when.
#include "core/worker.hpp"

namespace godwit::core {

namespace {

std::string tag_words(Tag tag) { return tag == any_tag ? "any tag" : fmt::format("tag {}", tag); }

}  // namespace

std::string Worker::name_of(Rank rank_in_job) {
  try {
    const Card& card = directory_.card(rank_in_job);
    return fmt::format("rank {} ({}, pid {})", rank_in_job, card.host_name, card.pid);
  } catch (const Error&) {
    return fmt::format("rank {}", rank_in_job);  // the launcher does not know any more who it was
  }
}

std::string Worker::lost_words(const Peer& peer) {
  if (peer.lost_status == ErrorCode::ok)
    return fmt::format("{} has left the job and will neither send nor receive any more", name_of(peer.rank));
  return peer.lost_reason.empty() ? fmt::format("{} has failed", name_of(peer.rank)) : peer.lost_reason;
}

std::string Worker::truncation_words(const Operation& receive) {
  return fmt::format(
      "message of {} bytes from rank {} with tag {} does not fit into the receive buffer of {} bytes: its "
      "first {} bytes are there, the rest is lost",
      receive.info.size, receive.info.source, receive.info.tag, receive.size, receive.size);
}

std::string Worker::describe_collective(const Operation& operation) {
  const auto sequence = static_cast<std::uint64_t>(operation.tag);
  const CollectiveRecord* call = operation.group->find_collective(sequence);
  std::string text = fmt::format("collective #{}, {}, communicator {}, {}", sequence,
                                 call != nullptr ? core::describe(call->call) : "made long ago",
                                 operation.group->context / 2, since_words(operation));
  std::string separator = ", waits for ";
  for (const Operation& step : active_) {
    if (step.group != operation.group || step.tag != operation.tag || (step.context & 1U) == 0) continue;
    if (step.kind != Operation::Kind::send && step.kind != Operation::Kind::recv) continue;
    const bool receives = step.kind == Operation::Kind::recv;
    text += fmt::format("{}{} {}", separator, receives ? "data from" : "the receiver",
                        name_of(receives ? step.source : step.peer->rank));
    separator = ", ";
  }
  for (const Poller* poller : pollers_) text += poller->words(operation);
  return text;
}

std::string Worker::describe(const Operation& operation) {
  if (operation.kind == Operation::Kind::collective) return describe_collective(operation);
  std::string text(to_string(operation.kind));
  if (operation.kind == Operation::Kind::recv && operation.state == Operation::State::posted) {
    text += operation.source == any_source ? " from any rank" : " from " + name_of(operation.source);
  } else if (operation.peer != nullptr) {
    const bool incoming = operation.kind == Operation::Kind::recv || operation.kind == Operation::Kind::get;
    text += (incoming ? " from " : " to ") + name_of(operation.peer->rank);
  }
  if (operation.kind == Operation::Kind::send || operation.kind == Operation::Kind::recv) {
    const bool collective = (operation.context & 1U) != 0;
    text += collective ? fmt::format(", collective #{}", operation.tag) : ", " + tag_words(operation.tag);
  }
  if (operation.group != nullptr) text += fmt::format(", communicator {}", operation.group->context / 2);
  text += fmt::format(", {} bytes", operation.size);
  if (operation.protocol != nullptr) text += fmt::format(", protocol {}", operation.protocol->name);
  switch (operation.state) {
    case Operation::State::connecting: text += ", waits for the connection"; break;
    case Operation::State::held: text += ", waits for earlier transfers to the same rank"; break;
    case Operation::State::posted:
      text += operation.kind == Operation::Kind::recv   ? ", no matching message has come"
              : operation.kind == Operation::Kind::send ? ", announced, the receiver has not matched it"
                                                        : ", waits for the answer";
      break;
    case Operation::State::moving:
      text += fmt::format(", {} bytes moved", std::max(operation.moved, operation.posted));
      break;
    case Operation::State::done: text += ", done"; break;
  }
  return text + ", " + since_words(operation);
}

std::string Worker::since_words(const Operation& operation) const {
  return fmt::format("since {:.1f} s", 1e-3 * static_cast<double>(services_.clock.now_ms() - operation.since_ms));
}

std::string Worker::describe_all() {
  std::size_t count = 0;
  std::string lines;
  for (const Operation& operation : active_) {
    ++count;
    lines += "\n  " + describe(operation);
  }
  for (const auto& known : peers_)
    if (known && !known->pending.empty())
      lines += fmt::format("\n  {} messages queued for {}: its queue is full or it is not connected",
                           known->pending.size(), name_of(known->rank));
  for (const auto& known : peers_)
    if (known && known->endpoint)
      if (const std::string trouble = known->endpoint->trouble(); !trouble.empty())
        lines += fmt::format("\n  {}: {}", name_of(known->rank), trouble);
  matcher_.for_each_unexpected([&](const Unexpected& message) {
    lines += fmt::format("\n  unexpected message from {}, communicator {}, {}, {} bytes", name_of(message.source),
                         message.context / 2, tag_words(message.tag), message.size);
  });
  return fmt::format("{} pending operations, {} unexpected messages{}", count, matcher_.unexpected_count(), lines);
}

}  // namespace godwit::core
