// Queue pairs connected by rdma_cm: what the control plane has to do with it.
#include "verbs/cm_words.hpp"
#include "verbs/control.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <random>

namespace godwit::verbs {
namespace {

const char* way_words(bool by_cm) { return by_cm ? "rdma_cm" : "exchange over the side channel"; }

}  // namespace

std::uint64_t Control::new_token() {
  std::random_device random;
  std::uint64_t token = 0;
  while (token == 0) token = std::uint64_t{random()} << 32 | random();
  return token;
}

void Control::check_way(const Hello& hello) const {
  const bool there = hello.cm_port != 0;
  if (there == (cm_ != nullptr)) return;
  throw Error(ErrorCode::transport,
              fmt::format("rank {} connects queue pairs by {}, rank {} by {}: set GODWIT_IB_CONNECT alike on all hosts",
                          rank_, way_words(cm_ != nullptr), hello.from, way_words(there)));
}

void Control::connect_by_cm(Session& session, const Hello& hello) {
  const CmAddress there{hello.cm_ip, hello.cm_port};
  session.state = Session::State::awaiting_cm;
  session.limit(connect_time_,
                fmt::format("rdma_cm did not connect {} to {} within {} s; do these addresses reach each other (`ping "
                            "-I`), are both ports up (`godwit ibstat`)?",
                            to_text(cm_->address()), to_text(there), connect_time_.count() / 1000));
  CmGreeting greeting;
  greeting.job = job_;
  greeting.token = hello.token;
  greeting.from = rank_;
  greeting.to = session.peer.rank;
  cm_->connect(session.peer.rank, there, greeting, session.connection->pair);
}

void Control::forget_cm(Rank peer) {
  if (cm_) cm_->forget(peer);
}

QueuePair* Control::on_cm_request(const CmGreeting& greeting) {
  const auto found = sessions_.find(greeting.from);
  if (found == sessions_.end() || greeting.job != job_ || greeting.to != rank_) return nullptr;
  const Session& session = *found->second;
  const bool promised = session.token != 0 && session.token == greeting.token && session.connection;
  return promised ? &session.connection->pair : nullptr;
}

void Control::on_cm_receives(Rank peer) {
  const auto found = sessions_.find(peer);
  if (found != sessions_.end()) hand_over(*found->second);
}

void Control::on_cm_connected(Rank peer) {
  const auto found = sessions_.find(peer);
  if (found == sessions_.end()) return;
  Session& session = *found->second;
  session.state = Session::State::open;
  session.limit(std::chrono::milliseconds::zero(), {});
  mailbox_.push(LinkReady{peer, adapters_.front()->iwarp()});
  session.send(SideMessage::ready);
}

void Control::on_cm_lost(Rank peer, const std::string& why) {
  const auto found = sessions_.find(peer);
  if (found == sessions_.end()) return forget_cm(peer);
  Session& session = *found->second;
  const std::string words = fmt::format("{}: {}", session.peer.text(), why);
  session.send(SideMessage::failed, std::as_bytes(std::span(std::string_view(words))));
  lose(session, ErrorCode::transport, words);
}

}  // namespace godwit::verbs
