#include "verbs/control.hpp"

#include "core/core_options.hpp"
#include "core/text.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <boost/asio/ip/v6_only.hpp>

#include <algorithm>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace godwit::verbs {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t longest_host_name = 40;  // in a card

std::string host_name() {
  char name[48] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "?";
}

template <std::size_t n>
void copy_words(char (&to)[n], const std::string& from) {
  std::memcpy(to, from.data(), std::min(n - 1, from.size()));
}

template <std::size_t n>
std::string words_of(const char (&from)[n]) {
  return {from, ::strnlen(from, n)};
}

std::vector<tcp::endpoint> endpoints_of(const TransportAddress& address) {
  std::vector<tcp::endpoint> endpoints;
  for (const auto& host : address.hosts) {
    const asio::ip::address_v6 v6(host);
    const asio::ip::address any = v6.is_v4_mapped()
                                      ? asio::ip::address(asio::ip::make_address_v4(asio::ip::v4_mapped, v6))
                                      : asio::ip::address(v6);
    endpoints.emplace_back(any, address.port);
  }
  return endpoints;
}

}  // namespace

std::string PeerName::text() const { return fmt::format("rank {} ({}, pid {})", rank, host, pid); }

Control::Control(core::Services& services, Rank rank, std::string_view job, const Adapters& adapters,
                 std::vector<RailEnd> rails, Mailbox& mailbox, const std::optional<CmSetup>& cm)
    : services_(services),
      rank_(rank),
      job_(core::hash64(job)),
      host_(host_name()),
      connect_time_(1000 * *services.options.get<VerbsOptions>().connect_time),
      recovery_time_(1000 * *services.options.get<VerbsOptions>().recovery_time),
      adapters_(adapters),
      rails_(std::move(rails)),
      mailbox_(mailbox) {
  AsyncEvents::Owner& events_owner = *this;
  for (const auto& adapter : adapters_)
    events_.push_back(std::make_unique<AsyncEvents>(services.service.io(), *adapter, services.log, events_owner));
  if (cm) {
    Cm::Owner& owner = *this;
    cm_ = std::make_unique<Cm>(services.service.io(), cm->api, *adapters_.front(), services.log, owner, cm->addresses);
  }
  listen();
  services_.service.post([this, life = std::weak_ptr(life_)] {
    if (life.expired()) return;
    for (const auto& events : events_) events->start();
    if (cm_) cm_->start();
    for (tcp::acceptor& acceptor : acceptors_) accept_later(acceptor);
  });
}

Control::~Control() {
  for (tcp::acceptor& acceptor : acceptors_) {
    error_code ignored;  // of a socket that nobody needs any more
    acceptor.close(ignored);
  }
  for (const auto& [peer, session] : sessions_) session->close();
  for (const SessionPointer& session : strangers_) session->close();
}

// One socket for IPv4 and IPv6 where there is IPv6.
void Control::listen() {
  error_code error;
  for (const bool v6 : {true, false}) {
    tcp::acceptor acceptor(services_.service.io());
    acceptor.open(v6 ? tcp::v6() : tcp::v4(), error);
    if (!error && v6) acceptor.set_option(asio::ip::v6_only(false), error);
    if (!error) acceptor.bind(tcp::endpoint(v6 ? tcp::v6() : tcp::v4(), 0), error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error) continue;
    ::fcntl(acceptor.native_handle(), F_SETFD, FD_CLOEXEC);
    listening_port_ = acceptor.local_endpoint().port();
    acceptors_.push_back(std::move(acceptor));
    return;
  }
  throw Error(ErrorCode::transport, fmt::format("verbs: the side channel cannot listen: {}", error.message()));
}

void Control::accept_later(tcp::acceptor& acceptor) {
  acceptor.async_accept([this, &acceptor, life = std::weak_ptr(life_)](const error_code& error, tcp::socket socket) {
    if (life.expired() || error == asio::error::operation_aborted) return;
    if (error) {
      services_.log.warn("verbs: a peer could not be accepted: {}", error.message());
    } else {
      const auto session = std::make_shared<Session>(std::move(socket), owner(), Session::State::awaiting_hello);
      strangers_.insert(session);
      session->limit(connect_time_ / 3, "no introduction came");
      session->start();
    }
    accept_later(acceptor);
  });
}

bool Control::is_current(const Session& session) const {
  const auto found = sessions_.find(session.peer.rank);
  return found != sessions_.end() && found->second.get() == &session;
}

// --- who connects -------------------------------------------------------------------------------------------------

void Control::connect(const PeerName& peer, const TransportAddress& address) {
  if (said_good_bye_ || ended_.contains(peer.rank) || sessions_.contains(peer.rank)) return;
  const auto session =
      std::make_shared<Session>(tcp::socket(services_.service.io()), owner(), Session::State::connecting);
  session->peer = peer;
  session->same_host = peer.host == host_.substr(0, longest_host_name);
  find_routes(*session, address.rails);
  sessions_[peer.rank] = session;
  session->limit(connect_time_, fmt::format("rank {} (here, on {}) could not connect to it within {} s; is the network "
                                            "that {} is reached over in order? GODWIT_SOCKET_IFNAME chooses it",
                                            rank_, host_, connect_time_.count() / 1000, peer.host));
  session->connect(endpoints_of(address));
}

void Control::on_connected(Session& session) {
  try {
    make_first_offer(session, nullptr);
    send_hello(session, make_hello(session));
    session.state = Session::State::awaiting_answer;
    session.limit(connect_time_, silence_words());
    session.start();
  } catch (const Error& error) {
    lose(session, error.code(), error.what());
  }
}

// A rank that computes does not answer late: its service thread does. What takes longer is broken.
std::string Control::silence_words() const {
  return fmt::format(
      "it has a TCP connection with rank {} (here, on {}) but did not answer on it within {} s "
      "(GODWIT_IB_CONNECT_TIME); "
      "is that process stopped (`ps` there says T), or does something else listen at its address?",
      rank_, host_, connect_time_.count() / 1000);
}

Hello Control::make_hello(const Session& session) const {
  Hello hello;
  hello.job = job_;
  hello.from = rank_;
  hello.to = session.peer.rank;
  hello.same_host = session.same_host ? 1 : 0;
  hello.rails = to_wire(rails_);
  hello.pairs = session.offer.wire();
  hello.buffer_bytes = adapters_.front()->frame_bytes();
  hello.credits = session.receives->frames();
  hello.flush_address = adapters_.front()->flush_word().address;
  hello.flush_rkey = adapters_.front()->flush_word().rkey;
  hello.token = session.token;
  if (cm_) {
    hello.cm_ip = cm_->address().ip;
    hello.cm_port = cm_->address().port;
  }
  hello.pid = static_cast<std::uint32_t>(::getpid());
  copy_words(hello.host, host_);
  for (const auto& adapter : adapters_) copy_words(hello.ports[adapter->rail()], adapter->about());
  return hello;
}

void Control::send_hello(Session& session, const Hello& hello) {
  session.send(SideMessage::hello, core::wire_bytes(hello));
}

void Control::complete_connection(Session& session, const Hello& hello) {
  const auto route = session.offer.agree(hello.pairs, 0);
  if (!route)
    throw Error(ErrorCode::transport,
                fmt::format("{} and rank {} have no pair of ports that can be used at both ends just now: `godwit "
                            "ibstat` on both hosts",
                            session.peer.text(), rank_));
  session.receives->take(adapter_of(session, *route));
  session.connection =
      std::make_unique<Connection>(std::move(*session.offer.pairs[*route]), session.routes, *route, session.receives);
  session.offer = {};
  Connection& connection = *session.connection;
  connection.credits = hello.credits;
  connection.peer_buffer = hello.buffer_bytes;
  for (std::size_t rail = 0; rail < connection.peer_ports.size(); ++rail)
    connection.peer_ports[rail] = words_of(hello.ports[rail]);
  connection.peer_flush = {hello.flush_address, hello.flush_rkey};
  check_way(hello);
  if (cm_)
    connection.pair.expect(hello.pairs[*route]);
  else
    connection.pair.connect(hello.pairs[*route]);
}

void Control::hand_over(Session& session) {
  const Connection& connection = *session.connection;
  session.rebuild.in_use = connection.pair.address().number;
  session.rebuild.route = connection.route;
  pairs_[{connection.adapter().rail(), session.rebuild.in_use}] = session.peer.rank;
  mailbox_.push(LinkMade{session.peer, std::move(session.connection)});
}

void Control::take_answer(Session& session, const Hello& hello) {
  complete_connection(session, hello);
  if (cm_) return connect_by_cm(session, hello);
  session.state = Session::State::open;
  session.limit(milliseconds::zero(), {});
  hand_over(session);
  session.send(SideMessage::ready);
  mailbox_.push(LinkReady{session.peer.rank});
}

// --- who is connected to --------------------------------------------------------------------------------------------

void Control::take_hello(Session& session, const Hello& hello) {
  const SessionPointer self = session.shared_from_this();
  session.peer = {hello.from, words_of(hello.host), hello.pid};
  if (said_good_bye_) return send_bye(session, 0);
  if (const auto end = ended_.find(hello.from); end != ended_.end())
    return drop(session, end->second.empty() ? "it had said good-bye before"
                                             : "the connection with it was lost before: " + end->second);
  if (const auto known = sessions_.find(hello.from); known != sessions_.end()) {
    const bool ours_counts = known->second->state == Session::State::open ||
                             known->second->state == Session::State::awaiting_ready ||
                             known->second->state == Session::State::awaiting_cm || rank_ < hello.from;
    if (ours_counts) {
      session.state = Session::State::parked;
      session.limit(milliseconds::zero(), {});
      return;
    }
    known->second->close();
    sessions_.erase(known);
  }
  strangers_.erase(self);
  sessions_[hello.from] = self;
  session.same_host = hello.same_host != 0;
  find_routes(session, from_wire(hello.rails));
  make_first_offer(session, &hello.pairs);
  if (cm_) session.token = new_token();
  const Hello answer = make_hello(session);
  complete_connection(session, hello);
  if (!cm_) hand_over(session);  // before the peer can send
  session.state = Session::State::awaiting_ready;
  session.limit(connect_time_, silence_words());
  send_hello(session, answer);
}

void Control::take_ready(Session& session) {
  session.state = Session::State::open;
  session.limit(milliseconds::zero(), {});
  if (!adapters_.front()->iwarp()) mailbox_.push(LinkReady{session.peer.rank});
}

// --- messages and ends ----------------------------------------------------------------------------------------------

void Control::on_message(Session& session, SideMessage kind, std::span<const std::byte> bytes) {
  const SessionPointer self = session.shared_from_this();
  try {
    Hello hello;
    Bye bye;
    Recover recover;
    Resume resume;
    switch (kind) {
      case SideMessage::hello:
        if (bytes.size() != sizeof hello) return drop(session, "its hello is of another version of Godwit");
        std::memcpy(&hello, bytes.data(), sizeof hello);
        if (hello.job != job_ || hello.to != rank_ || hello.from < 0 || hello.from == rank_)
          return drop(session, "it belongs to another job, or to another rank");
        if (session.state == Session::State::awaiting_hello) return take_hello(session, hello);
        if (session.state == Session::State::awaiting_answer && hello.from == session.peer.rank)
          return take_answer(session, hello);
        break;
      case SideMessage::ready:
        if (session.state == Session::State::awaiting_ready && !session.connection) return take_ready(session);
        break;
      case SideMessage::bye:
        if (bytes.size() != sizeof bye || !is_current(session)) break;
        std::memcpy(&bye, bytes.data(), sizeof bye);
        return lose(session, ErrorCode::ok, {}, bye.sent);
      case SideMessage::failed:
        if (!is_current(session)) break;
        return lose(session, ErrorCode::transport,
                    fmt::format("{} gave the connection up: {}", session.peer.text(),
                                std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())));
      case SideMessage::recover:
        if (bytes.size() != sizeof recover || session.state != Session::State::open || !is_current(session)) break;
        std::memcpy(&recover, bytes.data(), sizeof recover);
        return take_recover(session, recover);
      case SideMessage::resume:
        if (bytes.size() != sizeof resume || session.state != Session::State::open || !is_current(session)) break;
        std::memcpy(&resume, bytes.data(), sizeof resume);
        return take_resume(session, resume);
    }
    drop(session, "it sent what does not fit here");
  } catch (const Error& error) {
    session.send(SideMessage::failed, std::as_bytes(std::span(std::string_view(error.what()))));
    lose(session, error.code(), error.what());
  }
}

void Control::on_end(Session& session, const std::string& why) {
  if (!is_current(session)) {
    strangers_.erase(session.shared_from_this());
    if (session.state == Session::State::awaiting_hello)
      services_.log.debug("verbs: a connection was dropped: {}", why);
    return;
  }
  lose(session, ErrorCode::peer_failed, fmt::format("{}: {}", session.peer.text(), why));
}

void Control::lose(Session& session, ErrorCode status, const std::string& why, std::uint64_t sent) {
  const SessionPointer self = session.shared_from_this();
  session.close_when_sent();
  strangers_.erase(self);
  if (!is_current(session)) return;
  sessions_.erase(session.peer.rank);
  forget_cm(session.peer.rank);
  std::erase_if(pairs_, [&](const auto& entry) { return entry.second == session.peer.rank; });
  ended_.emplace(session.peer.rank, why);
  mailbox_.push(PeerLost{session.peer.rank, status, why, sent});
}

void Control::drop(Session& session, const std::string& why) {
  services_.log.warn("verbs: a connection from {} is refused: {}",
                     session.peer.rank >= 0 ? session.peer.text() : std::string("a stranger"), why);
  if (is_current(session)) return lose(session, ErrorCode::transport, fmt::format("{}: {}", session.peer.text(), why));
  // It learns why, instead of taking us for dead.
  session.send(SideMessage::failed, std::as_bytes(std::span(std::string_view(why))));
  const SessionPointer self = session.shared_from_this();
  strangers_.erase(self);
  session.close_when_sent();
}

void Control::give_up(Rank peer, const std::string& why) {
  const auto found = sessions_.find(peer);
  if (found == sessions_.end()) return;
  found->second->send(SideMessage::failed, std::as_bytes(std::span(std::string_view(why))));
  found->second->close_when_sent();
  sessions_.erase(found);
  forget_cm(peer);
  ended_.emplace(peer, why);
}

void Control::send_bye(Session& session, std::uint64_t sent) {
  const Bye bye{sent};
  session.send(SideMessage::bye, core::wire_bytes(bye));
  session.close_when_sent();
}

void Control::say_good_bye(const std::map<Rank, std::uint64_t>& sent) {
  said_good_bye_ = true;
  for (const auto& [peer, session] : sessions_) {
    if (session->connection) forget_cm(peer);  // it goes away before it was made
    const auto count = sent.find(peer);
    send_bye(*session, count == sent.end() ? 0 : count->second);
  }
  sessions_.clear();
  for (const SessionPointer& session : strangers_) {
    if (session->state == Session::State::parked)
      session->close();
    else
      send_bye(*session, 0);  // it is about to introduce itself
  }
  strangers_.clear();
}

}  // namespace godwit::verbs
