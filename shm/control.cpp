// Listening, connecting, and which connection counts. What open connections say: control_frames.cpp.
#include "shm/control.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <initializer_list>

namespace godwit::shm {

using boost::asio::posix::stream_descriptor;

namespace {

constexpr auto retry_delay = std::chrono::milliseconds(10);

template <class Bytes>
void fill_random(Bytes& bytes) {
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw Error(ErrorCode::transport, fmt::format("no random numbers from getrandom: {}", std::strerror(errno)));
}

struct AbstractAddress {
  explicit AbstractAddress(const SocketName& name) {
    std::string text = "godwit-shm-";
    for (const std::byte byte : name) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, text.data(), text.size());  // a leading 0: not in the file system
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  }
  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&address); }

  sockaddr_un address{};
  socklen_t size = 0;
};

core::UniqueFd new_socket() {
  return core::UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

std::vector<core::UniqueFd> duplicates(std::initializer_list<int> files) {
  std::vector<core::UniqueFd> copies;
  for (const int file : files) {
    copies.emplace_back(::fcntl(file, F_DUPFD_CLOEXEC, 0));
    if (!copies.back())
      throw Error(ErrorCode::no_memory,
                  fmt::format("no file descriptor left for a shared-memory connection: {}; raise the limit (ulimit -n)",
                              std::strerror(errno)));
  }
  return copies;
}

std::string this_host() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
}

}  // namespace

std::string PeerName::text() const { return fmt::format("rank {} ({}, pid {})", rank, host, pid); }

Control::Control(core::Services& services, const ControlSettings& settings, const Bell& bell, Mailbox& mailbox)
    : services_(services),
      settings_(settings),
      bell_(bell),
      mailbox_(mailbox),
      host_(this_host()),
      listener_(services.service.io()),
      accept_retry_(services.service.io()) {
  fill_random(name_);
  fill_random(nonce_);
  core::UniqueFd socket = new_socket();
  const AbstractAddress address(name_);
  if (!socket || ::bind(socket.get(), address.get(), address.size) != 0 || ::listen(socket.get(), SOMAXCONN) != 0)
    throw Error(errno == EMFILE || errno == ENFILE ? ErrorCode::no_memory : ErrorCode::transport,
                fmt::format("the shared-memory transport cannot listen on a Unix socket: {}", std::strerror(errno)));
  listener_.assign(socket.release());
  services_.service.post([this] { accept_later(); });
}

Control::~Control() {
  for (auto& [rank, session] : sessions_) session->close();
  for (const auto& session : strangers_) session->close();
}

void Control::accept_later() {
  if (!listener_.is_open()) return;
  listener_.async_wait(stream_descriptor::wait_read, [this](const boost::system::error_code& error) {
    if (error) return;
    accept_all();
  });
}

// Returns why there is no more.
int Control::accept_waiting() {
  while (true) {
    core::UniqueFd socket(::accept4(listener_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return errno;
    auto session =
        std::make_shared<Session>(services_.service.io(), owner(), std::move(socket), Session::State::awaiting_hello);
    if (!session->peer_may_connect()) {
      services_.log.debug("shm: dropped a connection of another user");
      session->close();
      continue;
    }
    strangers_.insert(session);
    session->start();
  }
}

void Control::accept_all() {
  const int error = accept_waiting();
  if (error == EAGAIN || error == ECONNABORTED || error == EINTR || said_good_bye_) return accept_later();
  services_.log.error("shm: cannot accept connections of peers now: {}; trying again (limit: ulimit -n)",
                      std::strerror(error));
  accept_retry_.expires_after(std::chrono::milliseconds(100));
  accept_retry_.async_wait([this](const boost::system::error_code& failed) {
    if (!failed) accept_later();
  });
}

void Control::connect(const PeerName& peer, const SocketName& name) {
  if (said_good_bye_ || knows(peer.rank)) return;
  try_connect(peer, name);
}

// It has connected to us (and perhaps left again): the worker hears of that.
bool Control::knows(Rank peer) const { return sessions_.contains(peer) || ended_.contains(peer); }

// A peer that is gone may have connected to us before it went, and said good-bye.
bool Control::hear(Rank gone) {
  accept_waiting();
  const std::vector<SessionPointer> waiting(strangers_.begin(), strangers_.end());
  for (const SessionPointer& session : waiting) session->take_frames();
  return knows(gone);
}

void Control::try_connect(const PeerName& peer, const SocketName& name) {
  core::UniqueFd socket = new_socket();
  const AbstractAddress address(name);
  if (socket && ::connect(socket.get(), address.get(), address.size) == 0) {
    try {
      return start_session(peer, std::move(socket));
    } catch (const std::exception& error) {
      services_.log.error("shm: cannot connect to {}: {}", peer.text(), error.what());
      return mailbox_.push(PeerLost{peer.rank, ErrorCode::transport, error.what()});
    }
  }
  const int error = errno;
  if (error == EAGAIN || error == EINTR) {  // its queue is full: it is stopped, or very busy
    auto timer = std::make_shared<boost::asio::steady_timer>(services_.service.io(), retry_delay);
    connect_retries_.insert(timer);
    timer->async_wait([this, timer, peer, name](const boost::system::error_code& cancelled) {
      if (cancelled) return;
      connect_retries_.erase(timer);
      connect(peer, name);
    });
    return;
  }
  if (error != ECONNREFUSED) {
    const std::string why =
        fmt::format("rank {} cannot connect to {}: {}", settings_.rank, peer.text(), std::strerror(error));
    services_.log.error("shm: {}", why);
    return mailbox_.push(PeerLost{peer.rank, ErrorCode::transport, why});
  }
  if (hear(peer.rank)) return;
  // Whether it has left in order is not known here. No error as long as no operation needs it: those say so.
  const std::string why = fmt::format("rank {} cannot connect to {}: its process is gone, nobody listens there",
                                      settings_.rank, peer.text());
  services_.log.info("shm: {}", why);
  ended_.insert(peer.rank);
  mailbox_.push(PeerLost{peer.rank, ErrorCode::peer_failed, why});
}

void Control::start_session(const PeerName& peer, core::UniqueFd socket) {
  core::SharedMemory link = core::SharedMemory::create(link_bytes(settings_.ring_bytes), "godwit-link");
  auto session =
      std::make_shared<Session>(services_.service.io(), owner(), std::move(socket), Session::State::awaiting_welcome);
  session->rank = peer.rank;
  session->host = peer.host;
  session->pid = peer.pid;
  std::vector<core::UniqueFd> files = duplicates({link.fd(), bell_.page_fd(), bell_.event_fd()});
  session->link = std::move(link);
  sessions_[peer.rank] = session;
  session->start();
  session->send(make_introduction(FrameType::hello), std::move(files));
}

Frame Control::make_frame(FrameType type) const {
  Frame frame;
  frame.type = type;
  frame.rank = settings_.rank;
  frame.job = settings_.job;
  return frame;
}

Frame Control::make_introduction(FrameType type) const {
  Frame frame = make_frame(type);
  frame.pid = static_cast<std::uint32_t>(::getpid());
  frame.ring_bytes = static_cast<std::uint32_t>(settings_.ring_bytes);
  frame.max_message = static_cast<std::uint32_t>(settings_.max_message);
  frame.membarrier = bell_.has_membarrier() ? 1 : 0;
  frame.cma = settings_.cma ? 1 : 0;
  frame.nonce_address = reinterpret_cast<std::uint64_t>(nonce_.data());
  frame.nonce = nonce_;
  frame.set_host(host_);
  return frame;
}

void Control::accept_hello(const SessionPointer& session, const Frame& frame, std::vector<core::UniqueFd> files) {
  if (frame.type != FrameType::hello || files.size() != 3 || frame.job != settings_.job ||
      frame.rank == settings_.rank || frame.rank < 0)
    return drop(*session, "its first words are not those of a peer of this job");
  const auto known = sessions_.find(frame.rank);
  if (known != sessions_.end()) {
    if (known->second->state == Session::State::open) return drop(*session, "that rank is connected already");
    if (settings_.rank < frame.rank) {
      session->state = Session::State::parked;
      return;
    }
    known->second->close();
    sessions_.erase(known);
  }
  session->rank = frame.rank;
  session->host = frame.host_name();
  session->pid = frame.pid;
  const bool sane = frame.ring_bytes >= 4 * slot_bytes && (frame.ring_bytes & (frame.ring_bytes - 1)) == 0 &&
                    4 * slots_for(frame.max_message) * slot_bytes <= frame.ring_bytes;
  if (!sane) return drop(*session, "its ring has an impossible size");
  strangers_.erase(session);
  sessions_[frame.rank] = session;
  core::SharedMemory link =
      core::SharedMemory::attach(std::move(files[0]), link_bytes(frame.ring_bytes), "godwit-link");
  session->send(make_introduction(FrameType::welcome), duplicates({bell_.page_fd(), bell_.event_fd()}));
  open(session, frame, std::move(link), std::move(files[1]), std::move(files[2]), false);
}

void Control::say_good_bye() {
  said_good_bye_ = true;
  accept_retry_.cancel();
  for (const auto& timer : connect_retries_) timer->cancel();
  connect_retries_.clear();
  ::shutdown(listener_.native_handle(), SHUT_RDWR);  // who comes later is refused, who has come is told
  accept_waiting();
  boost::system::error_code ignored;  // closing is all that is left to do
  listener_.close(ignored);
  const Frame good_bye = make_frame(FrameType::good_bye);
  for (const auto& session : strangers_) {
    if (session->state != Session::State::parked) session->send(good_bye);
    session->close();
  }
  for (const auto& [rank, session] : sessions_) {
    session->send(good_bye);
    session->close();
  }
  strangers_.clear();
  sessions_.clear();
}

}  // namespace godwit::shm
