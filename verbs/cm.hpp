// Connects queue pairs by rdma_cm: iWARP has no other way, InfiniBand and RoCE can be asked to (GODWIT_IB_CONNECT).
//
//   who connects                          who is connected to
//   address, route; connect       ->      the greeting names a promised queue pair: to RTS, receives(), accept
//   to RTS, receives(), connected() <-
//
// On iWARP the kernel moves the queue pairs. Includes Boost.Asio: only for the control plane.
// Threads: constructor and destructor by the worker; all else on the service thread.
#pragma once

#include "core/log.hpp"
#include "verbs/adapter.hpp"
#include "verbs/cm_api.hpp"
#include "verbs/queue_pair.hpp"

#include <godwit/types.hpp>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace godwit::verbs {

class Cm {
 public:
  struct Owner {
    /// A peer asks for the queue pair that the side channel has promised; nullptr: there is no such promise.
    virtual QueuePair* on_cm_request(const CmGreeting& greeting) = 0;
    /// Messages of the peer may come from now on. The queue pair is not touched any more.
    virtual void on_cm_receives(Rank peer) = 0;
    /// Ours has been accepted.
    virtual void on_cm_connected(Rank peer) = 0;
    /// The connection was not made, or has ended without a word over the side channel.
    virtual void on_cm_lost(Rank peer, const std::string& why) = 0;

   protected:
    ~Owner() = default;
  };

  /// Listens at the first of `addresses` that belongs to the adapter's port. Throws Error(not_supported) when there is
  /// none, or no rdma_cm.
  Cm(boost::asio::io_context& io, CmApi& api, Adapter& adapter, core::Log& log, Owner& owner,
     std::span<const Gid> addresses);
  ~Cm();
  Cm(const Cm&) = delete;
  Cm& operator=(const Cm&) = delete;

  const CmAddress& address() const noexcept { return address_; }
  void start() { wait(); }
  /// Results by on_cm_*. `pair` lives until on_cm_receives() or forget().
  void connect(Rank peer, const CmAddress& to, const CmGreeting& greeting, QueuePair& pair);
  /// Nothing more is said of it. A connection in use stays until it has ended, for what is still under way, at most
  /// `last_rest`.
  void forget(Rank peer);

 private:
  struct DestroyChannel {
    CmApi* api;
    void operator()(rdma_event_channel* channel) const noexcept { api->destroy_event_channel(channel); }
  };
  struct DestroyId {
    CmApi* api;
    void operator()(rdma_cm_id* id) const noexcept { api->destroy_id(id); }
  };
  using Id = std::unique_ptr<rdma_cm_id, DestroyId>;
  struct Line;
  struct Event;
  using LinePointer = std::shared_ptr<Line>;

  Id make_id();
  void listen(std::span<const Gid> addresses);
  std::string listen_at(const Gid& ip);
  void wait();
  void take();
  void handle(const Event& event);
  void advance(Line& line, const Event& event);
  void request(Id id, const std::optional<CmGreeting>& greeting);
  void begin(Line& line);
  void send_request(Line& line);
  void finish(Line& line);
  rdma_conn_param parameters_of(const Line& line) const noexcept;
  void fail(Line& line, const std::string& why);
  void after_silence(Line& line, const std::string& why);
  LinePointer find(rdma_cm_id* id) const;
  std::string here() const;

  CmApi& api_;
  Adapter& adapter_;
  core::Log& log_;
  Owner& owner_;
  boost::asio::io_context& io_;
  std::unique_ptr<rdma_event_channel, DestroyChannel> channel_;
  boost::asio::posix::stream_descriptor descriptor_;
  Id listener_;
  CmAddress address_;
  std::map<rdma_cm_id*, LinePointer> lines_;
  std::map<Rank, rdma_cm_id*> current_;                        // not forgotten
  const std::shared_ptr<int> life_ = std::make_shared<int>();  // of handlers that may come later
};

}  // namespace godwit::verbs
