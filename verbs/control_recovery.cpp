// The control plane's part of replacing a queue pair. transport_recovery.cpp has the picture.
//
// Rounds are numbered; a message of an earlier round than ours is forgotten, one of a later round makes us join that.
#include "verbs/control.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <algorithm>

namespace godwit::verbs {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr milliseconds first_pause{5}, longest_pause{200};

}  // namespace

// The worker has let the queue pair go.
void Control::recover(Rank peer, const PairWish& wish) {
  const auto found = sessions_.find(peer);
  if (found == sessions_.end() || found->second->state != Session::State::open) return;  // its end is in the mailbox
  Session& session = *found->second;
  Rebuild& rebuild = session.rebuild;
  if (wish.round < rebuild.round) return;  // it has been told of the later one
  begin_round(session, wish.round);
  const bool again = rebuild.since && !wish.progress;
  if (!again) rebuild.since = steady_clock::now();
  rebuild.pause = again ? std::clamp(2 * rebuild.pause, first_pause, longest_pause) : milliseconds::zero();
  rebuild.not_before = steady_clock::now() + rebuild.pause;
  rebuild.in_use = 0;
  rebuild.avoid = wish.avoid;
  rebuild.released = true;
  rebuild.why = wish.why;
  rebuild.acknowledged = wish.acknowledged;
  pursue(session);
}

void Control::begin_round(Session& session, std::uint32_t round) {
  Rebuild& rebuild = session.rebuild;
  if (round <= rebuild.round) return;
  rebuild.round = round;
  rebuild.running = true;
  rebuild.fresh = {};
  rebuild.theirs.reset();
  rebuild.received_there.reset();
  rebuild.released = rebuild.resumed = false;
}

void Control::on_pair_failed(Adapter& adapter, std::uint32_t number, const std::string& why, bool may_pass) {
  const auto pair = pairs_.find({adapter.rail(), number});
  const auto session = pair == pairs_.end() ? sessions_.end() : sessions_.find(pair->second);
  if (session == sessions_.end()) return;
  if (may_pass && recovers() && session->second->state == Session::State::open) {
    if (session->second->rebuild.in_use == number) announce_round(*session->second, why, true);
    return;
  }
  const std::string words = fmt::format("{}: {}", session->second->peer.text(), why);
  session->second->send(SideMessage::failed, std::as_bytes(std::span(std::string_view(words))));
  lose(*session->second, ErrorCode::transport, words);
}

// The worker begins it.
void Control::announce_round(Session& session, const std::string& why, bool avoid) {
  Rebuild& rebuild = session.rebuild;
  rebuild.in_use = 0;
  rebuild.running = true;
  mailbox_.push(
      PairFailed{session.peer.rank, rebuild.round + 1, fmt::format("{}: {}", session.peer.text(), why), avoid});
}

// Does what can be done, and looks again while it waits for something here. What it waits for there comes as a message,
// however late: a peer that computes is not lost.
void Control::pursue(Session& session) {
  Rebuild& rebuild = session.rebuild;
  if (rebuild.released && rebuild.fresh.empty() && steady_clock::now() - *rebuild.since > recovery_time_)
    return give_up_recovery(session);
  try {
    if (rebuild.released && rebuild.fresh.empty() && steady_clock::now() >= rebuild.not_before) offer_pair(session);
    if (!rebuild.fresh.empty() && rebuild.theirs) connect_pair(session);
  } catch (const Error& error) {
    // Perhaps the route is not there yet. The next one is another round, for the peer, too.
    rebuild.trouble = error.what();
    begin_round(session, rebuild.round + 1);
    rebuild.released = true;
    rebuild.pause = std::clamp(2 * rebuild.pause, first_pause, longest_pause);
    rebuild.not_before = steady_clock::now() + rebuild.pause;
  }
  if (rebuild.released && rebuild.fresh.empty()) session.later(first_pause, [this](Session& same) { pursue(same); });
}

void Control::offer_pair(Session& session) {
  Rebuild& rebuild = session.rebuild;
  rebuild.fresh = make_offer(session, rebuild.trouble);
  if (rebuild.fresh.empty()) return;
  Recover recover;
  recover.round = rebuild.round;
  recover.avoid = rebuild.avoid;
  recover.acknowledged = rebuild.acknowledged;
  recover.pairs = rebuild.fresh.wire();
  session.send(SideMessage::recover, core::wire_bytes(recover));
}

void Control::connect_pair(Session& session) {
  Rebuild& rebuild = session.rebuild;
  const auto route = rebuild.fresh.agree(rebuild.theirs->pairs, rebuild.avoid | rebuild.theirs->avoid);
  if (!route)
    throw Error(ErrorCode::transport, fmt::format("the ports that can be used here and there are not connected with "
                                                  "each other{}{}",
                                                  rebuild.trouble.empty() ? "" : ": ", rebuild.trouble));
  QueuePair& pair = *rebuild.fresh.pairs[*route];
  pair.connect(rebuild.theirs->pairs[*route]);
  session.receives->take(pair.adapter());
  std::erase_if(pairs_, [&](const auto& entry) { return entry.second == session.peer.rank; });
  rebuild.in_use = pair.address().number;
  rebuild.route = *route;
  pairs_[{pair.adapter().rail(), rebuild.in_use}] = session.peer.rank;
  mailbox_.push(PairMade{session.peer.rank, rebuild.round, std::move(rebuild.fresh.pairs[*route]), *route,
                         rebuild.theirs->acknowledged});
  rebuild.fresh = {};
  rebuild.released = false;
}

// The worker counts with the fresh queue pair.
void Control::resume(Rank peer, std::uint32_t round, std::uint64_t received) {
  const auto found = sessions_.find(peer);
  if (found == sessions_.end() || found->second->rebuild.round != round) return;
  Session& session = *found->second;
  const Resume resume{.round = round, .received = received};
  session.send(SideMessage::resume, core::wire_bytes(resume));
  session.rebuild.resumed = true;
  finish_recovery(session);
}

void Control::finish_recovery(Session& session) {
  Rebuild& rebuild = session.rebuild;
  if (!rebuild.resumed || !rebuild.received_there) return;
  mailbox_.push(PairReady{session.peer.rank, rebuild.round, *rebuild.received_there});
  rebuild.running = false;
  if (std::exchange(rebuild.look_again, false)) regain(session);
}

void Control::take_recover(Session& session, const Recover& recover) {
  if (!recovers())
    throw Error(ErrorCode::transport, fmt::format("{} wants to rebuild a connection that has failed, which "
                                                  "rank {} does not: set GODWIT_IB_RECOVERY_TIME alike on all hosts",
                                                  session.peer.text(), rank_));
  Rebuild& rebuild = session.rebuild;
  if (recover.round < rebuild.round) return;
  if (recover.round > rebuild.round) {
    begin_round(session, recover.round);
    mailbox_.push(PairFailed{session.peer.rank, recover.round,
                             fmt::format("{} says that its queue pair has failed", session.peer.text())});
  }
  rebuild.theirs = recover;
  pursue(session);
}

void Control::take_resume(Session& session, const Resume& resume) {
  if (resume.round != session.rebuild.round) return;
  session.rebuild.received_there = resume.received;
  finish_recovery(session);
}

void Control::give_up_recovery(Session& session) {
  const Rebuild& rebuild = session.rebuild;
  const std::string words = fmt::format(
      "{}: the connection could not be rebuilt within {} s{}{} (GODWIT_IB_RECOVERY_TIME); what had failed: {}",
      session.peer.text(), recovery_time_.count() / 1000, rebuild.trouble.empty() ? "" : ": ", rebuild.trouble,
      rebuild.why);
  session.send(SideMessage::failed, std::as_bytes(std::span(std::string_view(words))));
  lose(session, ErrorCode::transport, words);
}

}  // namespace godwit::verbs
