// One control connection: sends frames in order, however slowly the peer reads, and hands incoming ones over.
// Threads: the service thread only.
#pragma once

#include "core/shared_memory.hpp"
#include "shm/frame.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace godwit::shm {

class Session : public std::enable_shared_from_this<Session> {
 public:
  /// `parked`: lost against a connection of ours to the same peer; the peer will close it.
  enum class State : std::uint8_t { awaiting_hello, awaiting_welcome, open, parked };

  struct Owner {
    virtual void on_frame(Session& session, const Frame& frame, std::vector<core::UniqueFd> files) = 0;
    /// The connection has ended, without our close(); `why` in words. Nothing more comes from it.
    virtual void on_end(Session& session, const std::string& why) = 0;

   protected:
    ~Owner() = default;
  };

  Session(boost::asio::io_context& io, Owner& owner, core::UniqueFd socket, State its_state);

  void start() { wait_for_frames(); }
  /// Hands over what has come already.
  void take_frames();
  void send(const Frame& frame, std::vector<core::UniqueFd> files = {});
  /// Also ends when this process does, although a child of it may hold the socket open.
  void watch_process(pid_t number);
  /// Process and user at the other end, as the kernel tells; pid 0: not in our PID namespace.
  pid_t peer_pid() const noexcept;
  bool peer_may_connect() const noexcept;
  void close() noexcept;

  // The owner's notes.
  State state;
  Rank rank = -1;    // from the hello on
  std::string host;  // for messages
  std::uint32_t pid = 0;
  core::SharedMemory link;                 // of who connects, until the welcome
  std::set<std::uint64_t> given_segments;  // of ours, that the peer has asked for

 private:
  struct Outgoing {
    Frame frame;
    std::vector<core::UniqueFd> files;
  };

  void wait_for_frames();
  void wait_for_end();
  void flush();
  void end(const std::string& why);

  boost::asio::posix::stream_descriptor socket_;
  boost::asio::posix::stream_descriptor process_;
  Owner* owner_;  // nullptr when closed or ended
  std::deque<Outgoing> outgoing_;
  bool waiting_to_write_ = false;
};

}  // namespace godwit::shm
