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
  rebuild.released = true;
  rebuild.why = wish.why;
  rebuild.acknowledged = wish.acknowledged;
  pursue(session);
}

void Control::begin_round(Session& session, std::uint32_t round) {
  Rebuild& rebuild = session.rebuild;
  if (round <= rebuild.round) return;
  rebuild.round = round;
  rebuild.fresh.reset();
  rebuild.theirs.reset();
  rebuild.received_there.reset();
  rebuild.released = rebuild.resumed = false;
}

// Does what can be done, and looks again while it waits for something here. What it waits for there comes as a message,
// however late: a peer that computes is not lost.
void Control::pursue(Session& session) {
  Rebuild& rebuild = session.rebuild;
  if (rebuild.released && !rebuild.fresh && steady_clock::now() - *rebuild.since > recovery_time_)
    return give_up_recovery(session);
  try {
    if (rebuild.released && !rebuild.fresh && steady_clock::now() >= rebuild.not_before) offer_pair(session);
    if (rebuild.fresh && rebuild.theirs) connect_pair(session);
  } catch (const Error& error) {
    // Perhaps the route is not there yet. The next one is another round, for the peer, too.
    rebuild.trouble = error.what();
    begin_round(session, rebuild.round + 1);
    rebuild.released = true;
    rebuild.pause = std::clamp(2 * rebuild.pause, first_pause, longest_pause);
    rebuild.not_before = steady_clock::now() + rebuild.pause;
  }
  if (rebuild.released && !rebuild.fresh) session.later(first_pause, [this](Session& same) { pursue(same); });
}

void Control::on_port_active() {
  const auto sessions = sessions_;  // some may end
  for (const auto& [peer, session] : sessions)
    if (session->rebuild.released) pursue(*session);
}

void Control::offer_pair(Session& session) {
  Rebuild& rebuild = session.rebuild;
  rebuild.trouble = adapter_.look_again();
  if (!rebuild.trouble.empty()) return;
  rebuild.fresh = std::make_unique<QueuePair>(adapter_);
  Recover recover;
  recover.round = rebuild.round;
  recover.acknowledged = rebuild.acknowledged;
  recover.pair = rebuild.fresh->address();
  session.send(SideMessage::recover, core::wire_bytes(recover));
}

void Control::connect_pair(Session& session) {
  Rebuild& rebuild = session.rebuild;
  rebuild.fresh->connect(rebuild.theirs->pair);
  std::erase_if(pairs_, [&](const auto& entry) { return entry.second == session.peer.rank; });
  rebuild.in_use = rebuild.fresh->address().number;
  pairs_[rebuild.in_use] = session.peer.rank;
  mailbox_.push(PairMade{session.peer.rank, rebuild.round, std::move(rebuild.fresh), rebuild.theirs->acknowledged});
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
