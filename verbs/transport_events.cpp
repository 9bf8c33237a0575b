// What the service thread has found out, taken by the worker; the end of links.
#include "verbs/post.hpp"
#include "verbs/transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <thread>

namespace godwit::verbs {
namespace {

constexpr std::chrono::seconds longest_flush{5};

}  // namespace

void VerbsTransport::handle_events() {
  for (Event& event : mailbox_.take()) std::visit([this](auto& e) { on(e); }, event);
}

void VerbsTransport::on(LinkMade& made) {
  if (shut_down_) return;
  auto& link = links_[made.peer.rank];
  if (!link) link = std::make_shared<Link>(made.peer);
  const QueuePair& pair = made.connection->pair;
  link->capabilities = capabilities_of(*made.connection);
  link->inline_bytes = pair.inline_bytes();
  link->depth = pair.send_depth();
  link->iwarp = made.connection->adapter().iwarp();
  link->slots.resize(std::bit_ceil(link->depth));
  link->slot_mask = link->slots.size() - 1;
  link->copies = std::make_unique_for_overwrite<std::byte[]>(link->slots.size() * link->inline_bytes);
  link->credits = made.connection->credits;
  link->connection = std::move(made.connection);
  link->follow_pair();
  rails_[link->rail].pairs[pair.address().number] = link;
}

void VerbsTransport::on(const LinkReady& ready) {
  const auto found = links_.find(ready.peer);
  if (found == links_.end() || found->second->state != Link::State::connecting) return;
  const LinkPointer& link = found->second;
  link->state = Link::State::open;
  link->may_post = true;
  if (link->endpoints != 0) posting_.completions.connected(link->rank());
  link->speaks_first = ready.speak_first;
  if (link->owed > 0 || link->speaks_first) owing_.push_back(link);
}

void VerbsTransport::on(PeerLost& lost) {
  if (shut_down_) return;
  const auto found = links_.find(lost.peer);
  if (found == links_.end()) {  // nothing was ever made of it: for those who come later
    departed_.try_emplace(lost.peer, lost.status, std::move(lost.detail));
    return;
  }
  const LinkPointer& link = found->second;
  if (link->state == Link::State::draining) return;
  const bool was_recovering = link->state == Link::State::recovering;
  link->state = Link::State::draining;
  link->may_post = false;
  link->lost_status = lost.status;
  link->lost_detail = std::move(lost.detail);
  // Who tells may know only that we had told of a failure.
  if (was_recovering && lost.status != ErrorCode::ok && link->lost_detail.find(link->recovery.why) == std::string::npos)
    link->lost_detail += "; what had failed here: " + link->recovery.why;
  link->last_word = lost.sent;
  link->peer_gave_up = lost.status == ErrorCode::transport;
  start_draining(link);
}

void VerbsTransport::start_draining(const LinkPointer& link) {
  link->draining_since_ms = services_.clock.now_ms();
  link->drained_at = rails_[link->rail].entries_until_drained();
  draining_.push_back(link);
}

// Its queues work no more: the control plane moves its connections to another rail, where there is one.
void VerbsTransport::fail_rail(Rail& rail, const std::string& why) {
  if (std::exchange(rail.failed, true)) return;
  if (const auto self = links_.find(rank_); self != links_.end() && self->second->rail == rail.adapter.rail())
    posting_.fail(self->second, ErrorCode::transport, why);
  if (rails_.size() > 1)
    return services_.service.post(
        [control = control_.get(), &adapter = rail.adapter, why] { control->lose_adapter(adapter, why); });
  for (const auto& [rank, link] : links_)
    if (link->connection) posting_.fail(link, ErrorCode::transport, fmt::format("{}: {}", link->peer.text(), why));
}

void VerbsTransport::move_refused() {
  for (auto& [link, why] : std::exchange(posting_.refused, {})) {
    if (link->state != Link::State::open) continue;
    if (control_->recovers())
      begin_recovery(link, link->recovery.round + 1, std::move(why), true);
    else
      posting_.fail(link, ErrorCode::transport, std::move(why));
  }
}

// Links that failed here: the peer is told, and what is in the queue still comes.
void VerbsTransport::give_up_failing() {
  for (const LinkPointer& link : std::exchange(posting_.failing, {})) {
    services_.service.post(
        [control = control_.get(), peer = link->rank(), why = link->lost_detail] { control->give_up(peer, why); });
    link->connection->pair.fail();
    start_draining(link);
  }
}

std::size_t VerbsTransport::finish_draining(std::span<core::Completion> out) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < draining_.size() && n < out.size();) {
    const LinkPointer link = draining_[i];
    const bool late = services_.clock.now_ms() - link->draining_since_ms > frames_patience_ms;
    const bool missing = link->received < link->last_word;
    if (!rails_[link->rail].drained(link->drained_at) || (missing && !late)) {
      ++i;
      continue;
    }
    if (missing) {
      link->lost_status = ErrorCode::transport;
      link->lost_detail =
          fmt::format("{} has left after it had sent {} frames, of which {} arrived: {} lost some", link->peer.text(),
                      link->last_word, link->received, link->connection->adapter().about());
    }
    out[n++] = {.kind = core::Completion::Kind::peer_lost,
                .status = link->lost_status,
                .peer = link->rank(),
                .detail = posting_.completions.keep(std::make_unique<std::string>(link->lost_detail))};
    departed_.try_emplace(link->rank(), link->lost_status, link->lost_detail);
    lose(link);
    links_.erase(link->rank());
    retired_.push_back(link);
    draining_.erase(draining_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return n;
}

// After that the adapter reads and writes nothing of the link's.
void VerbsTransport::lose(const LinkPointer& link) {
  link->state = Link::State::lost;
  link->may_post = false;
  if (!link->connection) return;
  rails_[link->rail].forget_pair(link->connection->pair.address().number);
  std::erase(owing_, link);
  link->connection->pair.destroy();
  link->recovery.fresh.reset();
  if (link->posted > link->completed) retire(*link, posting_, link->posted - 1, false);
  link->connection.reset();
}

// Before a good-bye: the peer may rely on what was sent before.
void VerbsTransport::flush_sends() {
  const auto deadline = std::chrono::steady_clock::now() + longest_flush;
  std::array<core::Completion, 16> dropped;
  const auto waits = [](const auto& entry) {
    const Link& link = *entry.second;
    const bool works = (link.may_post && link.state == Link::State::open) || link.state == Link::State::recovering;
    return works && link.under_way() > 0;
  };
  // Of iWARP a completion says only that the data is on its way.
  for (const auto& entry : links_)
    if (entry.second->iwarp && entry.second->may_post) post_flush(entry.second, posting_);
  while (std::ranges::any_of(links_, waits) && std::chrono::steady_clock::now() < deadline) {
    for (const auto& entry : links_)
      if (waits(entry) && entry.second->may_post && entry.second->quiet > 0) post_flush(entry.second, posting_);
    if (poll(dropped) == 0) std::this_thread::yield();
  }
}

}  // namespace godwit::verbs
