#include "pmi/tcp_channel.hpp"

#include <fmt/format.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <array>

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace godwit::pmi {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

std::string peer_of(const Channel::Socket& socket) {
  error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  return error ? "an unknown address" : to_text(endpoint);
}

}  // namespace

Channel::Channel(Socket socket)
    : socket_(std::move(socket)),
      limit_(socket_.get_executor()),
      drained_(socket_.get_executor()),
      peer_(peer_of(socket_)) {
  drained_.expires_at(std::chrono::steady_clock::time_point::max());
}

asio::awaitable<void> Channel::connect(asio::ip::tcp::endpoint where) {
  const auto self = shared_from_this();
  co_await socket_.async_connect(where, asio::use_awaitable);
  configure(socket_);
  peer_ = to_text(where);
}

void Channel::send(Bytes frame) {
  if (!socket_.is_open()) return;
  queue_.push_back(std::move(frame));
  if (queue_.size() == 1) write_next();
}

void Channel::write_next() {
  asio::async_write(socket_, asio::buffer(*queue_.front()),
                    [self = shared_from_this()](const error_code& error, std::size_t) {
                      // A peer that is gone is noticed by whoever reads from it.
                      if (error) self->queue_.clear();
                      if (!self->queue_.empty()) self->queue_.pop_front();
                      if (!self->queue_.empty()) return self->write_next();
                      self->drained_.cancel();
                    });
}

asio::awaitable<Frame> Channel::receive(std::size_t limit) {
  const auto self = shared_from_this();
  std::array<char, frame_header_size> bytes{};
  co_await asio::async_read(socket_, asio::buffer(bytes), asio::use_awaitable);
  const FrameHeader header = decode_header(bytes.data(), limit);
  Frame frame{header.kind, std::string(header.length, '\0')};
  if (header.length > 0) co_await asio::async_read(socket_, asio::buffer(frame.payload), asio::use_awaitable);
  co_return frame;
}

void Channel::close_after(std::chrono::milliseconds time) {
  limit_.expires_after(time);
  limit_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error) self->close();
  });
}

void Channel::unlimited() { limit_.cancel(); }

asio::awaitable<void> Channel::drain() {
  const auto self = shared_from_this();
  while (!queue_.empty() && socket_.is_open()) {
    error_code cancelled;
    co_await drained_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
  }
}

void Channel::close() {
  error_code ignored;  // closing what has failed already
  socket_.close(ignored);
  limit_.cancel();
  drained_.cancel();
}

void configure(Channel::Socket& socket) {
  error_code ignored;  // none of this is needed for correctness, and the connection may be gone already
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const int fd = socket.native_handle();
  const auto set = [fd](int option, int seconds_or_count) {
    setsockopt(fd, IPPROTO_TCP, option, &seconds_or_count, sizeof seconds_or_count);
  };
  set(TCP_KEEPIDLE, 10);
  set(TCP_KEEPINTVL, 5);
  set(TCP_KEEPCNT, 3);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
}

std::string to_text(const asio::ip::tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return endpoint.address().is_v6() ? fmt::format("[{}]:{}", address, endpoint.port())
                                    : fmt::format("{}:{}", address, endpoint.port());
}

}  // namespace godwit::pmi
