#include "verbs/session.hpp"

#include <fmt/format.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <cstring>

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace godwit::verbs {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

// A network that drops packets silently must not keep us from trying the next one.
constexpr std::chrono::seconds longest_attempt{5};

// A host that vanished is noticed after seven seconds or so; a process that ended, at once.
void configure(tcp::socket& socket) {
  error_code ignored;  // none of this is needed for correctness, and the connection may be gone already
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const int fd = socket.native_handle();
  const auto set = [fd](int option, int value) { ::setsockopt(fd, IPPROTO_TCP, option, &value, sizeof value); };
  set(TCP_KEEPIDLE, 2);
  set(TCP_KEEPINTVL, 1);
  set(TCP_KEEPCNT, 5);
  set(TCP_USER_TIMEOUT, 7000);
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

}  // namespace

Session::Session(Socket socket, Owner& owner, State its_state)
    : state(its_state),
      socket_(std::move(socket)),
      limit_(socket_.get_executor()),
      later_(socket_.get_executor()),
      owner_(&owner) {
  peer.rank = -1;
  if (socket_.is_open()) configure(socket_);
}

void Session::connect(std::vector<tcp::endpoint> addresses) {
  asio::co_spawn(
      socket_.get_executor(),
      [self = shared_from_this(), addresses = std::move(addresses)]() -> asio::awaitable<void> {
        return self->run_connect(addresses);
      },
      asio::detached);
}

asio::awaitable<void> Session::run_connect(std::vector<tcp::endpoint> addresses) {
  const auto self = shared_from_this();
  std::string tried;
  for (const tcp::endpoint& address : addresses) {
    error_code error;
    socket_ = Socket(socket_.get_executor());
    asio::steady_timer patience(socket_.get_executor(), longest_attempt);
    patience.async_wait([weak = weak_from_this()](const error_code& cancelled) {
      const auto late = weak.lock();
      if (late && !cancelled && late->state == State::connecting) late->socket_.cancel();
    });
    co_await socket_.async_connect(address, asio::redirect_error(asio::use_awaitable, error));
    if (owner_ == nullptr) co_return;
    if (!error) {
      configure(socket_);
      owner_->on_connected(*this);
      co_return;
    }
    tried += fmt::format("{}{}: {}", tried.empty() ? "" : ", ", to_text(address), error.message());
  }
  end(fmt::format("its side channel cannot be reached ({}); GODWIT_SOCKET_IFNAME chooses the network", tried));
}

void Session::start() {
  asio::co_spawn(
      socket_.get_executor(), [self = shared_from_this()] { return self->run_read(); }, asio::detached);
}

asio::awaitable<void> Session::run_read() {
  const auto self = shared_from_this();
  std::vector<std::byte> bytes;
  while (owner_ != nullptr) {
    SideHeader header;
    error_code error;
    co_await asio::async_read(socket_, asio::buffer(&header, sizeof header),
                              asio::redirect_error(asio::use_awaitable, error));
    if (!error) {
      if (header.magic != SideHeader::side_magic || header.version != protocol_version ||
          header.bytes > longest_side_message || header.kind > last_side_message)
        co_return end("what came over the side channel is not of this version of Godwit");
      bytes.resize(header.bytes);
      co_await asio::async_read(socket_, asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, error));
    }
    if (error)
      co_return end(error == asio::error::eof || error == asio::error::connection_reset
                        ? std::string("it closed the side channel: the process has ended")
                        : fmt::format("the side channel broke: {}", error.message()));
    if (owner_ != nullptr) owner_->on_message(*this, header.kind, bytes);
  }
}

void Session::send(SideMessage kind, std::span<const std::byte> bytes) {
  if (!socket_.is_open() || closing_) return;
  const SideHeader header{.bytes = static_cast<std::uint32_t>(bytes.size()), .kind = kind};
  std::vector<std::byte> message(sizeof header + bytes.size());
  std::memcpy(message.data(), &header, sizeof header);
  if (!bytes.empty()) std::memcpy(message.data() + sizeof header, bytes.data(), bytes.size());
  outgoing_.push_back(std::move(message));
  if (outgoing_.size() == 1) write_next();
}

void Session::write_next() {
  asio::async_write(socket_, asio::buffer(outgoing_.front()),
                    [self = shared_from_this()](const error_code& error, std::size_t) {
                      // A peer that is gone is noticed by the reader.
                      if (error) self->outgoing_.clear();
                      if (!self->outgoing_.empty()) self->outgoing_.pop_front();
                      if (!self->outgoing_.empty()) return self->write_next();
                      if (self->closing_) self->close();
                    });
}

void Session::limit(std::chrono::milliseconds time, std::string what) {
  limit_.cancel();
  if (time == std::chrono::milliseconds::zero()) return;
  limit_.expires_after(time);
  limit_.async_wait([weak = weak_from_this(), what = std::move(what)](const error_code& error) {
    if (const auto self = weak.lock(); self && !error) self->end(what);
  });
}

void Session::later(std::chrono::milliseconds time, std::function<void(Session&)> what) {
  later_.expires_after(time);
  later_.async_wait([weak = weak_from_this(), what = std::move(what)](const error_code& error) {
    if (const auto self = weak.lock(); self && !error && self->owner_ != nullptr) what(*self);
  });
}

void Session::close() noexcept {
  owner_ = nullptr;
  offer = {};
  rebuild.fresh = {};
  receives.reset();
  later_.cancel();
  error_code ignored;  // closing what has failed already
  socket_.close(ignored);
  limit_.cancel();
}

void Session::close_when_sent() {
  owner_ = nullptr;
  offer = {};
  rebuild.fresh = {};
  receives.reset();
  closing_ = true;
  if (outgoing_.empty()) close();
}

void Session::end(const std::string& why) {
  Owner* const owner = std::exchange(owner_, nullptr);
  if (owner == nullptr) return;
  const auto self = shared_from_this();
  close();
  owner->on_end(*this, why);
}

std::string to_text(const tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return endpoint.address().is_v6() ? fmt::format("[{}]:{}", address, endpoint.port())
                                    : fmt::format("{}:{}", address, endpoint.port());
}

}  // namespace godwit::verbs
