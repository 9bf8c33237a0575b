// A connection of the TCP store, either end: frames in, frames out. Includes Boost.Asio: only for .cpp files of
// the store. Everything runs on the thread of the socket's io_context.
#pragma once

#include "pmi/tcp_protocol.hpp"

#include <utility>  // Boost 1.74's awaitable.hpp needs it and does not say so

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>

namespace godwit::pmi {

class Channel : public std::enable_shared_from_this<Channel> {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using Bytes = std::shared_ptr<const std::string>;

  /// A socket that is connected, or that connect() will connect.
  explicit Channel(Socket socket);
  /// Throws boost::system::system_error.
  boost::asio::awaitable<void> connect(boost::asio::ip::tcp::endpoint where);

  /// Queues a frame; it goes out even if nobody else keeps the channel.
  void send(Bytes frame);
  void send(std::string frame) { send(std::make_shared<const std::string>(std::move(frame))); }
  /// The next frame. Throws boost::system::system_error when the connection ends, Error(bootstrap) for what is
  /// no frame or longer than `limit`.
  boost::asio::awaitable<Frame> receive(std::size_t limit);
  /// Closes the connection after this time, unless unlimited() comes first.
  void close_after(std::chrono::milliseconds time);
  void unlimited();
  /// Returns when everything queued has been handed to the kernel, or the connection has ended.
  boost::asio::awaitable<void> drain();
  void close();
  /// "10.0.0.7:43210"
  const std::string& peer() const noexcept { return peer_; }

 private:
  void write_next();

  Socket socket_;
  boost::asio::steady_timer limit_;    // until close_after's time
  boost::asio::steady_timer drained_;  // cancelled when the queue is empty
  std::deque<Bytes> queue_;            // the first is being written
  std::string peer_;
};

/// For a socket just connected or accepted: no delay, not inherited by programs that the rank starts, and a peer
/// whose host has vanished is noticed within half a minute.
void configure(Channel::Socket& socket);

/// "10.0.0.7:43210", "[fe80::1]:29500"
std::string to_text(const boost::asio::ip::tcp::endpoint& endpoint);

}  // namespace godwit::pmi
