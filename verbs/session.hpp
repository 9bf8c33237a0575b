// One connection of the side channel: messages in order, both ways. Includes Boost.Asio: only for the control plane.
// Threads: the service thread.
#pragma once

#include "verbs/link.hpp"
#include "verbs/offer.hpp"
#include "verbs/wire.hpp"

#include <utility>  // Boost 1.74's awaitable.hpp needs it and does not say so

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace godwit::verbs {

/// A failed queue pair of an open connection is being replaced (control_recovery.cpp).
struct Rebuild {
  std::uint32_t round = 0;         // the first queue pair: 0
  std::uint32_t in_use = 0;        // number of the queue pair that the worker uses; 0: it has failed
  std::size_t route = 0;           // of it
  bool running = false;            // a round has begun, and the worker does not send yet
  bool look_again = false;         // a port has come back meanwhile
  std::uint32_t avoid = 0;         // routes (bits) that have just failed
  bool released = false;           // the worker has let the old one go, and there is no fresh one yet
  bool resumed = false;            // the worker counts with the fresh one, and the peer was told
  std::uint64_t acknowledged = 0;  // frames that the peer has, by what the worker knows
  Offer fresh;                     // until one of it is connected
  std::optional<Recover> theirs;
  std::optional<std::uint64_t> received_there;
  std::optional<std::chrono::steady_clock::time_point> since;  // nothing has gone well
  std::chrono::steady_clock::time_point not_before{};
  std::chrono::milliseconds pause{};
  std::string why, trouble;
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  using Socket = boost::asio::ip::tcp::socket;

  /// `parked`: lost against a connection of ours to the same peer, which will close it.
  enum class State : std::uint8_t {
    connecting,
    awaiting_hello,
    awaiting_answer,
    awaiting_cm,
    awaiting_ready,
    open,
    parked
  };

  struct Owner {
    /// connect() has succeeded.
    virtual void on_connected(Session& session) = 0;
    virtual void on_message(Session& session, SideMessage kind, std::span<const std::byte> bytes) = 0;
    /// The connection has ended, without our close(); `why` in words. Nothing more comes from it.
    virtual void on_end(Session& session, const std::string& why) = 0;

   protected:
    ~Owner() = default;
  };

  /// A socket that is connected, or not yet.
  Session(Socket socket, Owner& owner, State its_state);

  /// Tries one address after the other.
  void connect(std::vector<boost::asio::ip::tcp::endpoint> addresses);
  /// Reads from now on.
  void start();
  void send(SideMessage kind, std::span<const std::byte> bytes = {});
  /// Ends the connection after this time, unless limit() is called again; zero: no limit.
  void limit(std::chrono::milliseconds time, std::string what);
  /// Calls `what` after this time, unless later() is called again or the connection has ended.
  void later(std::chrono::milliseconds time, std::function<void(Session&)> what);
  void close() noexcept;
  /// After everything sent has been handed to the kernel.
  void close_when_sent();

  // The owner's notes.
  State state;
  PeerName peer;  // rank -1: not known yet
  bool same_host = false;
  std::vector<Route> routes;  // to the peer, best first
  Offer offer;                // until the peer's is known
  std::shared_ptr<Receives> receives;
  std::unique_ptr<Connection> connection;  // until the worker has it
  std::uint64_t token = 0;                 // that the peer must name over rdma_cm; 0: none
  Rebuild rebuild;

 private:
  boost::asio::awaitable<void> run_connect(std::vector<boost::asio::ip::tcp::endpoint> addresses);
  boost::asio::awaitable<void> run_read();
  void write_next();
  void end(const std::string& why);

  Socket socket_;
  boost::asio::steady_timer limit_, later_;
  Owner* owner_;  // nullptr when closed or ended
  std::deque<std::vector<std::byte>> outgoing_;
  bool closing_ = false;
};

/// "10.0.0.7:43210"
std::string to_text(const boost::asio::ip::tcp::endpoint& endpoint);

}  // namespace godwit::verbs
