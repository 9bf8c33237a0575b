// A queue pair that failed for a cause that may pass is replaced by a fresh one. Both sides do the same:
//
//   worker                                        control plane (control_recovery.cpp)
//   the pair goes to ERR, its completions are
//   taken; frames that the peer has: counted  ->  a fresh pair; Recover to the peer, and one from it
//   the fresh pair counts; frames that came   <-  the pair is connected
//   from now on over the old one are dropped  ->  Resume: how many frames came, to the peer, and one from it
//   what the peer does not have is repeated   <-
//
// A new failure, here or there, begins the next round of this. Frames are counted, and only one queue pair at a time
// counts them: none is lost or comes twice.
#include "verbs/explain.hpp"
#include "verbs/post.hpp"
#include "verbs/replay.hpp"
#include "verbs/transport.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace godwit::verbs {

// True: the work request keeps its slot.
bool VerbsTransport::begins_recovery(const LinkPointer& link, const ibv_wc& entry) {
  if (link->state != Link::State::open || !control_->recovers() || link->rank() == rank_) return false;
  begin_recovery(link, link->recovery.round + 1, explain(*link, entry), true);
  return true;
}

void VerbsTransport::begin_recovery(const LinkPointer& link, std::uint32_t round, std::string why, bool avoid) {
  Recovery& recovery = link->recovery;
  if (link->state == Link::State::open) {
    const bool news = link->completed + link->received != recovery.progress || recovery.attempts == 0;
    if (news) services_.log.info("verbs: {}: the connection is being rebuilt: {}", link->peer.text(), why);
    if (news) recovery.attempts = 0;
    link->state = Link::State::recovering;
    link->may_post = false;
    recovery.why = std::move(why);
    recovery.since_ms = services_.clock.now_ms();
    recovery.avoid = 0;
    recovering_.push_back(link);
  }
  recovery.round = round;
  ++recovery.attempts;
  recovery.step = Recovery::Step::drain;
  recovery.fresh.reset();
  if (avoid) recovery.avoid |= 1U << link->connection->route;
  recovery.drained_at = rails_[link->rail].entries_until_drained();
  link->connection->pair.fail();
}

void VerbsTransport::on(PairFailed& failed) {
  const auto found = links_.find(failed.peer);
  if (found == links_.end() || found->second->recovery.round >= failed.round) return;
  const LinkPointer& link = found->second;
  if (link->state == Link::State::open || link->state == Link::State::recovering)
    begin_recovery(link, failed.round, std::move(failed.why), failed.avoid);
}

void VerbsTransport::on(PairMade& made) {
  const auto found = links_.find(made.peer);
  if (found == links_.end() || found->second->state != Link::State::recovering) return;
  Recovery& recovery = found->second->recovery;
  if (recovery.step != Recovery::Step::asked || made.round < recovery.round) return;
  recovery.round = made.round;
  recovery.step = Recovery::Step::made;
  recovery.fresh = std::move(made.pair);
  recovery.fresh_route = made.route;
  recovery.known_here = made.known_here;
  recovery.made_ms = services_.clock.now_ms();
}

void VerbsTransport::on(const PairReady& ready) {
  const auto found = links_.find(ready.peer);
  if (found == links_.end() || found->second->state != Link::State::recovering) return;
  const LinkPointer& link = found->second;
  const Recovery& recovery = link->recovery;
  if (recovery.step != Recovery::Step::counted || recovery.round != ready.round) return;
  if (ready.received < acknowledged(*link) || ready.received > link->sent)
    return posting_.fail(link, ErrorCode::transport,
                         fmt::format("{} has got {} frames of {}, of which it had acknowledged {}: see `dmesg` there",
                                     link->peer.text(), ready.received, link->sent, acknowledged(*link)));
  link->state = Link::State::open;
  link->may_post = true;
  const std::uint64_t repeated = replay(link, posting_, ready.received);
  if (!link->may_post) return;  // it has failed
  post_flush(link, posting_);   // shows whether the new way works; without room there is enough that does
  if (link->owed >= link->connection->granted / 2) owing_.push_back(link);
  services_.log.info("verbs: {}: rebuilt after {} ms (QP {}, {}), {} work requests repeated", link->peer.text(),
                     services_.clock.now_ms() - recovery.since_ms, link->connection->pair.address().number,
                     link->connection->adapter().about(), repeated);
}

void VerbsTransport::pursue_recoveries() {
  std::erase_if(recovering_, [this](const LinkPointer& link) {
    if (link->state != Link::State::recovering) return true;
    const bool drained = rails_[link->rail].drained(link->recovery.drained_at);
    if (link->recovery.step == Recovery::Step::drain && drained) ask_for_pair(link);
    if (link->recovery.step == Recovery::Step::made && drained) count_frames(link);
    return link->state != Link::State::recovering;
  });
}

void VerbsTransport::ask_for_pair(const LinkPointer& link) {
  Recovery& recovery = link->recovery;
  recovery.step = Recovery::Step::asked;
  const std::uint64_t progress = link->completed + link->received;
  PairWish wish{recovery.round, acknowledged(*link), progress != recovery.progress, recovery.avoid, recovery.why};
  recovery.progress = progress;
  services_.service.post(
      [control = control_.get(), peer = link->rank(), wish = std::move(wish)] { control->recover(peer, wish); });
}

// From now on frames over the old queue pair do not count.
void VerbsTransport::count_frames(const LinkPointer& link) {
  Recovery& recovery = link->recovery;
  if (link->received < recovery.known_here) {
    if (services_.clock.now_ms() - recovery.made_ms <= frames_patience_ms) return;
    return posting_.fail(
        link, ErrorCode::transport,
        fmt::format("{} has sent {} frames that were acknowledged, of which {} arrived: {} lost some",
                    link->peer.text(), recovery.known_here, link->received, link->connection->adapter().about()));
  }
  QueuePair& pair = link->connection->pair;
  rails_[link->rail].forget_pair(pair.address().number);
  std::swap(pair, *recovery.fresh);
  recovery.fresh.reset();  // the old one
  link->connection->route = recovery.fresh_route;
  link->follow_pair();
  rails_[link->rail].pairs[pair.address().number] = link;
  recovery.step = Recovery::Step::counted;
  services_.service.post([control = control_.get(), peer = link->rank(), round = recovery.round,
                          received = link->received] { control->resume(peer, round, received); });
}

// What they wait for comes through the mailbox, unless it is in the completion queue.
bool VerbsTransport::recoveries_sleep() const noexcept {
  return std::ranges::all_of(recovering_, [](const LinkPointer& link) {
    return link->recovery.step == Recovery::Step::asked || link->recovery.step == Recovery::Step::counted;
  });
}

}  // namespace godwit::verbs
