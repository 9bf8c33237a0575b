// Collectives that do not fit together. Who sees it asks the other side, whoever knows both calls tells all.
// It shows where messages meet; where everybody only waits, those that have waited for a while tell whom they wait for
// in which call they are (docs/decisions/0006).
#include <algorithm>
#include <set>
#include <tuple>

#include "core/protocols/handlers.hpp"
#include "core/worker.hpp"

namespace godwit::core {

namespace {

// How long a mismatch waits for the other side's words before it is reported without them.
constexpr std::int64_t mismatch_patience_ms = 1000;

// Of "rank 3 (node1, pid 4711) called ...", what was called.
std::string_view call_of(std::string_view words) {
  constexpr std::string_view verb = " called ";
  const std::size_t at = words.find(verb);
  return at == std::string_view::npos ? std::string_view() : words.substr(at + verb.size());
}

}  // namespace

// --- finding it --------------------------------------------------------------------------------------------------

std::uint64_t Worker::begin_collective(Group& group, const CollectiveCall& call, std::uint32_t signature) {
  const std::uint64_t sequence = group.begin_collective(call, signature);
  if (matcher_.unexpected_count() > 0 || !awaited_.empty()) [[unlikely]]
    check_known(group, sequence, signature);
  return sequence;
}

// What is known of the others' calls by now.
void Worker::check_known(Group& group, std::uint64_t sequence, std::uint32_t signature) {
  const std::uint32_t context = group.context + 1;
  Rank other = any_source;
  matcher_.for_each_unexpected([&](const Unexpected& message) {
    if (message.context == context && message.tag == static_cast<Tag>(sequence) && message.signature != signature)
      other = message.source;
  });
  std::erase_if(awaited_, [&](const Awaited& entry) {
    if (entry.context != context || entry.sequence != sequence) return false;
    if (entry.signature != signature) other = entry.source;
    return true;
  });
  if (other != any_source) mismatch(group, other, sequence);
}

void Worker::check_early(const Unexpected& message) {
  if ((message.context & 1U) == 0) return;
  if (Group* group = find_group(message.context))
    check_call(*group, message.source, static_cast<std::uint64_t>(message.tag), message.signature);
}

void Worker::check_call(Group& group, Rank source, std::uint64_t sequence, std::uint32_t signature) {
  const CollectiveRecord* own = group.find_collective(sequence);
  if (own != nullptr && own->signature != signature) mismatch(group, source, sequence);
}

void Worker::tell_sources(std::int64_t after_ms) {
  std::set<std::tuple<Rank, std::uint32_t, Tag>> told;
  std::vector<OperationId> receives;
  for (Operation& operation : active_) {
    const bool waits = operation.kind == Operation::Kind::recv && operation.state == Operation::State::posted &&
                       (operation.context & 1U) != 0 && !operation.told &&
                       services_.clock.now_ms() - operation.since_ms >= after_ms;
    if (!waits) continue;
    operation.told = true;
    if (told.emplace(operation.source, operation.context, operation.tag).second) receives.push_back(operation.id);
  }
  // A peer that turns out to be lost ends operations: look each one up again.
  for (const OperationId id : receives) {
    const Operation* receive = pool_.find(id);
    if (receive == nullptr || receive->done()) continue;
    Peer& source = peer(receive->source);
    send_control(source, header(source, MessageKind::awaited, receive), {});
  }
}

void Worker::check_awaited(Peer& source, std::uint32_t context, Tag sequence, std::uint32_t signature) {
  if ((context & 1U) == 0 || sequence < 0)
    return protocol_error(source, fmt::format("that it waits for call {} of context {}", sequence, context));
  Group* group = find_group(context);
  // Temporary ones all make the same calls; whether one is still to come is not known.
  if (group == nullptr ? is_gone(context) || context >= first_temporary_context : group->broken) return;
  if (group != nullptr && group->to_group(source.rank) == any_source)
    return protocol_error(source,
                          fmt::format("a collective of communicator {}, to which it does not belong", context / 2));
  const Awaited entry{context, source.rank, static_cast<std::uint64_t>(sequence), signature};
  if (group != nullptr && entry.sequence < group->collective_sequence)
    return check_call(*group, entry.source, entry.sequence, entry.signature);
  if (std::ranges::find(awaited_, entry) == awaited_.end()) awaited_.push_back(entry);
}

void on_awaited(Worker& worker, Peer& peer, const WireHeader& header, std::span<const std::byte>) {
  worker.check_awaited(peer, header.context, header.tag, header.signature);
}

// --- telling it --------------------------------------------------------------------------------------------------

std::string Worker::own_call(const Group& group, std::uint64_t sequence) {
  const CollectiveRecord* own = group.find_collective(sequence);
  if (own != nullptr) return fmt::format("{} called {}", name_of(job_.rank), core::describe(own->call));
  if (sequence >= group.collective_sequence) return fmt::format("{} has not made that call yet", name_of(job_.rank));
  return fmt::format("{} made that call long ago", name_of(job_.rank));
}

void Worker::mismatch(Group& group, Rank source, std::uint64_t sequence) {
  if (group.broken) return;
  for (const Mismatch& known : mismatches_)
    if (known.context == group.context) return;
  mismatches_.push_back({group.context, source, sequence, services_.clock.now_ms() + mismatch_patience_ms});
  busy_ = true;
  send_abort(group, source, {.code = ErrorCode::mismatch, .stage = AbortStage::question, .sequence = sequence},
             own_call(group, sequence));
}

void Worker::expire_mismatches() {
  const std::vector<Mismatch> pending = mismatches_;
  for (const Mismatch& entry : pending) {
    if (services_.clock.now_ms() < entry.deadline_ms) continue;
    if (Group* group = find_group(entry.context))
      end_mismatch(*group, any_source, entry.sequence,
                   fmt::format("{} called something else (it did not answer with what)", name_of(entry.source)));
    std::erase_if(mismatches_, [&](const Mismatch& other) { return other.context == entry.context; });
  }
}

// `other`: knows both calls by itself.
void Worker::end_mismatch(Group& group, Rank other, std::uint64_t sequence, std::string_view other_call) {
  const std::string own = own_call(group, sequence);
  const bool alike = !call_of(own).empty() && call_of(own) == call_of(other_call);
  const std::string reason = fmt::format(
      "collective #{} of communicator {} does not fit: {}; {}.{} All ranks must make the same calls in the same order; "
      "this communicator is unusable now",
      sequence, group.context / 2, own, other_call,
      alike ? " They differ in the lengths of blocks, or in GODWIT_TUNE_FILE." : "");
  services_.log.error("{}", reason);
  announce_verdict(group, other, ErrorCode::mismatch, reason);
  break_group(group, ErrorCode::mismatch, reason);
}

}  // namespace godwit::core
