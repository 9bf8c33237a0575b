// What the service thread has found out, taken by the worker.
#include "shm/transport.hpp"

namespace godwit::shm {

void ShmTransport::handle_events() {
  for (Event& event : mailbox_.take()) std::visit([this](auto& e) { on(e); }, event);
}

void ShmTransport::on(LinkReady& ready) {
  if (shut_down_) return;
  auto& link = links_[ready.peer];
  if (!link) link = std::make_shared<Link>(PeerName{ready.peer, ready.host, ready.pid});
  link->open(std::move(ready));
  poller_.add(*link);
  if (link->endpoints != 0) completions_.connected(link->rank());
}

void ShmTransport::on(PeerLost& lost) {
  const auto found = links_.find(lost.peer);
  if (found == links_.end() || shut_down_) return;
  const auto& link = found->second;
  link->state = Link::State::draining;
  link->lost_status = lost.status;
  link->lost_detail = std::move(lost.detail);
  copying_.fail(*link, {ErrorCode::peer_failed, link->lost_detail});
  draining_.push_back(link);
}

void ShmTransport::on(SegmentMapped& mapped) {
  const auto found = links_.find(mapped.peer);
  if (found == links_.end()) return;
  found->second->remote.mapped(mapped.id, std::move(mapped.memory), std::move(mapped.error));
}

void ShmTransport::on(SegmentGone& gone) {
  if (const auto found = links_.find(gone.peer); found != links_.end()) found->second->remote.gone(gone.id);
}

}  // namespace godwit::shm
