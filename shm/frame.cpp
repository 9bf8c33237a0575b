#include "shm/frame.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace godwit::shm {
namespace {

constexpr std::size_t control_bytes = CMSG_SPACE(sizeof(int) * max_frame_files);

void take_files(msghdr& message, std::vector<core::UniqueFd>& files) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int file = -1;
      std::memcpy(&file, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      files.emplace_back(file);
    }
  }
}

}  // namespace

void Frame::set_host(std::string_view name) noexcept {
  host = {};
  std::copy_n(name.data(), std::min(name.size(), host.size() - 1), host.data());
}

std::string Frame::host_name() const { return {host.data(), ::strnlen(host.data(), host.size())}; }

FrameIo send_frame(int socket, const Frame& frame, std::span<const core::UniqueFd> files, int& error) noexcept {
  alignas(cmsghdr) std::array<std::byte, control_bytes> control{};
  iovec bytes{const_cast<Frame*>(&frame), sizeof(frame)};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  if (!files.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(sizeof(int) * files.size());
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int) * files.size());
    for (std::size_t i = 0; i < files.size(); ++i) {
      const int file = files[i].get();
      std::memcpy(CMSG_DATA(part) + i * sizeof(int), &file, sizeof(int));
    }
  }
  ssize_t sent = -1;
  do sent = ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  if (sent == sizeof(frame)) return FrameIo::done;
  error = sent < 0 ? errno : EPROTO;
  // Too many descriptors under way (ETOOMANYREFS) or no kernel memory now (ENOBUFS): as when the queue is full.
  if (error == EAGAIN || error == ETOOMANYREFS || error == ENOBUFS) return FrameIo::again;
  return error == EPIPE || error == ECONNRESET ? FrameIo::closed : FrameIo::failed;
}

FrameIo receive_frame(int socket, Frame& frame, std::vector<core::UniqueFd>& files, int& error) {
  alignas(cmsghdr) std::array<std::byte, control_bytes> control{};
  iovec bytes{&frame, sizeof(frame)};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t received = -1;
  // A peer that closes without having read everything resets the connection. The kernel says so once, before it gives
  // what the peer had sent.
  bool was_reset = false;
  do received = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  while (received < 0 && (errno == EINTR || (errno == ECONNRESET && !std::exchange(was_reset, true))));
  if (received < 0) {
    error = errno;
    if (error == EAGAIN) return FrameIo::again;
    return error == ECONNRESET ? FrameIo::closed : FrameIo::failed;
  }
  take_files(message, files);
  if (received == 0) return FrameIo::closed;
  error = EPROTO;
  if (received != sizeof(frame) || (message.msg_flags & MSG_TRUNC) != 0 || frame.magic != Frame::magic_value ||
      frame.layout != layout_version || frame.wire != core::wire_version)
    return FrameIo::failed;
  error = EMFILE;
  return (message.msg_flags & MSG_CTRUNC) != 0 ? FrameIo::failed : FrameIo::done;
}

}  // namespace godwit::shm
