// The control plane: listens, connects, exchanges segments, notices deaths. Results go to the worker's mailbox.
//
// Connections are made on first use. When two ranks connect to each other at the same time, the connection of the
// lower rank counts: it ignores ("parks") the other one, which the higher rank closes when it has accepted the
// lower rank's.
//
// Threads: constructor, start(), stop() and the destructor by the worker; all else on the service thread.
#pragma once

#include "core/services.hpp"
#include "shm/mailbox.hpp"
#include "shm/session.hpp"

#include <boost/asio/steady_timer.hpp>

#include <array>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>

namespace godwit::shm {

/// Name of a listening socket in the abstract namespace of a network namespace.
using SocketName = std::array<std::byte, 16>;

struct ControlSettings {
  Rank rank = 0;
  std::uint64_t job = 0;
  std::size_t ring_bytes = 0;
  std::size_t max_message = 0;
  bool cma = true;            // try it
  bool cma_expected = false;  // its absence is worth a warning
};

struct PeerName {
  Rank rank = 0;
  std::string host;
  std::uint32_t pid = 0;
  /// "rank 3 (node1, pid 4711)"
  std::string text() const;
};

class Control final : private Session::Owner {
 public:
  /// Throws Error(transport) or Error(no_memory) when it cannot listen.
  Control(core::Services& services, const ControlSettings& settings, const Bell& bell, Mailbox& mailbox);
  virtual ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  const SocketName& name() const noexcept { return name_; }

  void connect(const PeerName& peer, const SocketName& name);
  void request_segment(Rank peer, std::uint64_t id);
  /// A segment of this process has been given back.
  void announce_release(std::uint64_t id);
  /// Good-bye to everybody, also to those who are just about to connect.
  void say_good_bye();

 private:
  using SessionPointer = std::shared_ptr<Session>;

  Session::Owner& owner() noexcept { return *this; }
  void accept_later();
  void accept_all();
  int accept_waiting();
  bool knows(Rank peer) const;
  bool hear(Rank gone);
  void try_connect(const PeerName& peer, const SocketName& name);
  void start_session(const PeerName& peer, core::UniqueFd socket);
  Frame make_frame(FrameType type) const;
  Frame make_introduction(FrameType type) const;
  void accept_hello(const SessionPointer& session, const Frame& frame, std::vector<core::UniqueFd> files);
  void open(const SessionPointer& session, const Frame& frame, core::SharedMemory link, core::UniqueFd page,
            core::UniqueFd event, bool connected_by_us);
  Cma probe_cma(const Session& session, const Frame& frame) const;
  void reply_segment(Session& session, std::uint64_t id);
  void take_segment(Session& session, const Frame& frame, std::vector<core::UniqueFd> files);
  void on_frame(Session& session, const Frame& frame, std::vector<core::UniqueFd> files) override;
  void on_identified_frame(Session& session, const Frame& frame, std::vector<core::UniqueFd> files);
  void on_end(Session& session, const std::string& why) override;
  void lose(Session& session, ErrorCode status, const std::string& why);
  void drop(Session& session, const std::string& why);

  core::Services& services_;
  const ControlSettings settings_;
  const Bell& bell_;
  Mailbox& mailbox_;
  const std::string host_;
  SocketName name_{};
  Nonce nonce_{};
  boost::asio::posix::stream_descriptor listener_;
  boost::asio::steady_timer accept_retry_;
  std::unordered_map<Rank, SessionPointer> sessions_;                     // connecting and open
  std::set<Rank> ended_;                                                  // lost, or gone before we came
  std::set<SessionPointer> strangers_;                                    // no hello yet, or parked
  std::set<std::shared_ptr<boost::asio::steady_timer>> connect_retries_;  // the peer's queue was full
  bool said_good_bye_ = false;
};

}  // namespace godwit::shm
