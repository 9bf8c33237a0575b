// What peers say on their control connections, and their end.
#include "shm/control.hpp"

#include "core/segments.hpp"

#include <fmt/format.h>

namespace godwit::shm {

void Control::on_frame(Session& session, const Frame& frame, std::vector<core::UniqueFd> files) {
  const auto self = session.shared_from_this();
  try {
    if (session.state == Session::State::awaiting_hello) return accept_hello(self, frame, std::move(files));
    if (session.state == Session::State::parked) return;  // its good-bye
    on_identified_frame(session, frame, std::move(files));
  } catch (const std::exception& error) {
    const bool known = sessions_.contains(session.rank) && sessions_[session.rank] == self;
    if (known) return lose(session, ErrorCode::transport, error.what());
    services_.log.error("shm: cannot connect to rank {}: {}", frame.rank, error.what());
    drop(session, error.what());
  }
}

void Control::on_identified_frame(Session& session, const Frame& frame, std::vector<core::UniqueFd> files) {
  const bool is_open = session.state == Session::State::open;
  if (frame.type == FrameType::good_bye) return lose(session, ErrorCode::ok, "has left the job in order");
  if (!is_open && frame.type == FrameType::welcome && files.size() == 2 && frame.rank == session.rank)
    return open(session.shared_from_this(), frame, std::move(session.link), std::move(files[0]), std::move(files[1]),
                true);
  if (is_open && frame.type == FrameType::segment_request) return reply_segment(session, frame.number);
  if (is_open && frame.type == FrameType::segment_reply) return take_segment(session, frame, std::move(files));
  if (is_open && frame.type == FrameType::segment_gone) return mailbox_.push(SegmentGone{session.rank, frame.number});
  lose(session, ErrorCode::transport, "it sent a frame that does not belong here: a defect, please report");
}

void Control::open(const SessionPointer& session, const Frame& frame, core::SharedMemory link, core::UniqueFd page,
                   core::UniqueFd event, bool connected_by_us) {
  session->state = Session::State::open;
  session->host = frame.host_name();
  session->pid = frame.pid;
  link.close_file();
  core::SharedMemory bell_page = core::SharedMemory::attach(std::move(page), sizeof(BellPage), "godwit-bell");
  bell_page.close_file();
  const bool fence = !bell_.has_membarrier() || frame.membarrier == 0;
  LinkReady ready;
  ready.peer = session->rank;
  ready.host = session->host;
  ready.pid = session->pid;
  ready.memory = std::move(link);
  ready.connected_by_us = connected_by_us;
  ready.ring_bytes = connected_by_us ? settings_.ring_bytes : frame.ring_bytes;
  ready.max_message = connected_by_us ? settings_.max_message : frame.max_message;
  ready.bell = PeerBell(std::move(bell_page), std::move(event), fence);
  ready.cma = probe_cma(*session, frame);
  mailbox_.push(std::move(ready));
  session->watch_process(session->peer_pid());
}

Cma Control::probe_cma(const Session& session, const Frame& frame) const {
  if (!settings_.cma) return Cma("switched off here (GODWIT_SHM_CMA=off)");
  if (frame.cma == 0) return Cma("switched off at the peer (GODWIT_SHM_CMA=off)");
  Cma cma = Cma::probe(session.peer_pid(), frame.nonce_address, frame.nonce);
  if (!cma.works() && settings_.cma_expected)
    services_.log.warn("shm: GODWIT_SHM_CMA=on, but no cross-memory attach to rank {} ({}, pid {}): {}", session.rank,
                       session.host, session.pid, cma.reason());
  return cma;
}

void Control::reply_segment(Session& session, std::uint64_t id) {
  Frame reply = make_frame(FrameType::segment_reply);
  reply.number = id;
  std::vector<core::UniqueFd> files;
  if (core::UniqueFd file = core::segments::open(id)) {
    reply.size = core::segments::size_of(id);
    files.push_back(std::move(file));
    session.given_segments.insert(id);
  }
  session.send(reply, std::move(files));
}

void Control::take_segment(Session& session, const Frame& frame, std::vector<core::UniqueFd> files) {
  SegmentMapped mapped{session.rank, frame.number, {}, {}};
  if (files.size() != 1) {
    mapped.error = "the peer has given the memory back already, or has no file descriptor left (ulimit -n)";
  } else {
    try {
      mapped.memory = core::SharedMemory::attach(std::move(files[0]), frame.size, "memory of a peer");
      mapped.memory.close_file();
    } catch (const Error& error) {
      mapped.error = error.what();
    }
  }
  mailbox_.push(std::move(mapped));
}

void Control::request_segment(Rank peer, std::uint64_t id) {
  const auto session = sessions_.find(peer);
  if (session == sessions_.end()) return;  // lost: the worker will hear of it
  Frame request = make_frame(FrameType::segment_request);
  request.number = id;
  session->second->send(request);
}

void Control::announce_release(std::uint64_t id) {
  Frame gone = make_frame(FrameType::segment_gone);
  gone.number = id;
  for (const auto& [rank, session] : sessions_)
    if (session->given_segments.erase(id) != 0) session->send(gone);
}

void Control::on_end(Session& session, const std::string& why) {
  if (session.state == Session::State::awaiting_hello || session.state == Session::State::parked)
    return drop(session, why);
  const bool answered = session.state == Session::State::open;
  lose(session, ErrorCode::peer_failed,
       answered ? why : why + ", before it had answered; if it is alive, its log with GODWIT_DEBUG=debug says why");
}

void Control::lose(Session& session, ErrorCode status, const std::string& why) {
  const PeerName peer{session.rank, session.host, session.pid};
  std::string detail = fmt::format("rank {} has lost {}: {}", settings_.rank, peer.text(), why);
  if (status == ErrorCode::ok)
    services_.log.debug("shm: {} has said good-bye", peer.text());
  else
    services_.log.error("shm: {}", detail);
  session.close();
  sessions_.erase(peer.rank);
  ended_.insert(peer.rank);
  mailbox_.push(PeerLost{peer.rank, status, std::move(detail)});
}

void Control::drop(Session& session, const std::string& why) {
  if (session.state != Session::State::parked) services_.log.debug("shm: dropped a connection: {}", why);
  session.close();
  strangers_.erase(session.shared_from_this());
}

}  // namespace godwit::shm
