#include "shm/session.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <boost/asio/post.hpp>

#include <cerrno>
#include <cstring>

namespace godwit::shm {

using Descriptor = boost::asio::posix::stream_descriptor;

Session::Session(boost::asio::io_context& io, Owner& owner, core::UniqueFd socket, State its_state)
    : state(its_state), socket_(io), process_(io), owner_(&owner) {
  socket_.assign(socket.release());
}

void Session::wait_for_frames() {
  socket_.async_wait(Descriptor::wait_read, [self = shared_from_this()](const boost::system::error_code& error) {
    if (error || self->owner_ == nullptr) return;
    self->take_frames();
    if (self->owner_ != nullptr) self->wait_for_frames();
  });
}

void Session::take_frames() {
  while (owner_ != nullptr) {
    Frame frame;
    std::vector<core::UniqueFd> files;
    int error = 0;
    switch (receive_frame(socket_.native_handle(), frame, files, error)) {
      case FrameIo::done: owner_->on_frame(*this, frame, std::move(files)); break;
      case FrameIo::again: return;
      case FrameIo::closed: return end("its process closed the connection without a good-bye (killed or crashed)");
      case FrameIo::failed:
        return end(error == EPROTO   ? "it sent something that is not a frame of this version of Godwit"
                   : error == EMFILE ? "no file descriptor left here for what it sent (ulimit -n)"
                                     : fmt::format("reading from it failed: {}", std::strerror(error)));
    }
  }
}

void Session::send(const Frame& frame, std::vector<core::UniqueFd> files) {
  if (owner_ == nullptr) return;
  outgoing_.push_back({frame, std::move(files)});
  flush();
}

void Session::flush() {
  while (!outgoing_.empty() && !waiting_to_write_) {
    int error = 0;
    const FrameIo outcome =
        send_frame(socket_.native_handle(), outgoing_.front().frame, outgoing_.front().files, error);
    if (outcome == FrameIo::done) {
      outgoing_.pop_front();
    } else if (outcome == FrameIo::again) {
      waiting_to_write_ = true;
      socket_.async_wait(Descriptor::wait_write, [self = shared_from_this()](const boost::system::error_code& failed) {
        if (failed || self->owner_ == nullptr) return;
        self->waiting_to_write_ = false;
        self->flush();
      });
    } else {
      outgoing_.clear();
      if (outcome == FrameIo::closed) return;  // reading finds the same, after what the peer has still sent
      boost::asio::post(socket_.get_executor(), [self = shared_from_this(), error] {
        if (self->owner_ != nullptr) self->end(fmt::format("sending to it failed: {}", std::strerror(error)));
      });
    }
  }
}

void Session::watch_process(pid_t number) {
  if (number == 0 || number == ::getpid()) return;
  core::UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, number, 0)));
  if (!process) return;  // old kernel: the socket alone must do
  process_.assign(process.release());
  wait_for_end();
}

void Session::wait_for_end() {
  process_.async_wait(Descriptor::wait_read, [self = shared_from_this()](const boost::system::error_code& error) {
    if (error || self->owner_ == nullptr) return;
    // When several sessions end at once, a new one may get what was found out about one that has been closed since.
    pollfd ended{.fd = self->process_.native_handle(), .events = POLLIN, .revents = 0};
    if (::poll(&ended, 1, 0) == 0) return self->wait_for_end();
    self->take_frames();  // a good-bye before its end
    if (self->owner_ != nullptr) self->end("its process has ended without a good-bye (killed or crashed)");
  });
}

pid_t Session::peer_pid() const noexcept {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  auto& socket = const_cast<Descriptor&>(socket_);
  return ::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 ? credentials.pid : 0;
}

bool Session::peer_may_connect() const noexcept {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  auto& socket = const_cast<Descriptor&>(socket_);
  if (::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return false;
  return credentials.uid == ::geteuid() || credentials.uid == 0 || ::geteuid() == 0;
}

void Session::close() noexcept {
  owner_ = nullptr;
  boost::system::error_code ignored;  // closing is all that is left to do
  socket_.close(ignored);
  process_.close(ignored);
}

void Session::end(const std::string& why) {
  const auto keep = shared_from_this();
  Owner* owner = owner_;
  close();
  owner->on_end(*this, why);
}

}  // namespace godwit::shm
