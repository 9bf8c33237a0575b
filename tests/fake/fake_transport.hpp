// A transport whose wires are queues in memory: ranks of one process, every step under the test's control.
//
//   auto fabric = fake::Fabric::make({.manual = true});
//   auto a = fabric->make_transport(0), b = fabric->make_transport(1);
//   ... post ...; fabric->step(); ... poll ...
//
// A posted request waits on its link (one per direction and pair) until it is delivered: at once, or in manual mode
// when the test says so. Delivered messages wait in the receiver's inbox until poll(). Threads: any, one lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/services.hpp"
#include "core/transport.hpp"

namespace godwit::fake {

/// Everything that a transport may have: puts that notify, atomics, inline payloads of any length.
core::Capabilities full_capabilities();

struct Settings {
  core::Capabilities capabilities = full_capabilities();
  std::size_t queue_depth = 64;  // requests of one link that its far end has not polled yet
  bool manual = false;           // nothing is delivered before step() or deliver_all()
  bool manual_connect = false;   // endpoints wait for connect()
  bool at_once = false;          // endpoints execute put, get and atomic while nothing is on the link
  bool maps = false;             // endpoints map the memory of their peers
  bool access_error_cuts =
      false;           // whoever reaches for memory that is not registered loses the connection (InfiniBand)
  bool record = true;  // false: records() stays empty
};

/// A request that post() has accepted, with its payload as it was then.
struct Record {
  Rank from = 0;
  Rank to = 0;
  core::WorkRequest request;
  std::vector<std::byte> payload;
  bool at_once = false;  // not posted: see Settings
};
/// "0>1 eager 5", "1>0 ready_to_send", "0>1 put 100 notify", "1>0 get 4096", "1>0 get 8 at once"
std::string to_string(const Record& record);
std::string_view to_string(core::MessageKind kind) noexcept;

class Fabric : public std::enable_shared_from_this<Fabric> {
 public:
  static std::shared_ptr<Fabric> make(Settings settings = {});
  /// One per rank. It goes down with the transport: the peers see peer_failed unless it had said good-bye.
  std::unique_ptr<core::Transport> make_transport(Rank rank);
  /// Before the first endpoint is opened.
  Settings& settings() noexcept { return settings_; }

  // --- movement -----------------------------------------------------------------------------------------
  /// Delivers the oldest posted request (one of a random link). False: there was none.
  bool step();
  bool step(std::mt19937_64& random);
  std::size_t deliver_all();
  /// Nothing is on its way or unpolled.
  bool idle() const;
  /// Connects a pair whose endpoints wait (manual_connect).
  void connect(Rank a, Rank b);

  // --- faults: requests and posts are counted over the whole fabric, from 0 -----------------------------------
  std::uint64_t posted() const noexcept { return posts_; }       // calls of post() for one request
  std::uint64_t accepted() const noexcept { return accepted_; }  // requests
  /// The queue is full for `times` posts (not for what is executed at once) from the nth on.
  void refuse_posts(std::uint64_t nth, std::uint64_t times);
  /// The nth accepted request does not happen: a completion with `code` comes instead. A send cuts its pair.
  void fail_request(std::uint64_t nth, ErrorCode code);
  /// A failed send cuts nothing: the peer just misses the message.
  void lose_messages_silently() { silent_ = true; }
  /// The rank is gone. What it had posted is delivered first.
  void kill(Rank rank);
  /// The connection breaks: both sides lose the other, what is on its way is lost.
  void cut(Rank a, Rank b, ErrorCode code);
  /// register_memory() throws from now on.
  void refuse_registration(bool refuse) { refuse_registration_ = refuse; }

  // --- observation ------------------------------------------------------------------------------------------
  const std::vector<Record>& records() const noexcept { return records_; }
  void forget_records() { records_.clear(); }
  std::vector<std::string> script() const;
  /// What callers did against the contract of core/transport.hpp.
  const std::vector<std::string>& violations() const noexcept { return violations_; }
  std::size_t registrations() const noexcept { return regions_.size(); }

 private:
  friend class FakeTransport;
  friend class FakeEndpoint;

  struct Item {
    core::WorkRequest request;
    std::vector<std::byte> copy;
    std::uint64_t order = 0;
    ErrorCode failure = ErrorCode::ok;
    bool copied = false;
    bool good_bye = false;
  };
  struct Link {
    Rank from = 0;
    Rank to = 0;
    std::deque<Item> wire;
    std::size_t unpolled = 0;  // against queue_depth
    bool connected = false;
    bool opened = false;
    bool ready = false;  // `from` has polled its `connected`
    bool lost = false;
  };
  struct Entry {
    core::Completion completion;
    std::vector<std::byte> message;
    std::string words;
    Link* counted = nullptr;
  };
  struct Port {
    Rank rank = 0;
    bool alive = true;
    bool left = false;
    bool armed = false;
    int event_fd = -1;
    std::deque<Entry> inbox;
    std::deque<Entry> given;  // their payloads are valid until the next poll
  };
  struct Region {
    Rank owner = 0;
    std::byte* base = nullptr;
    std::size_t size = 0;
    bool shared = false;
  };

  explicit Fabric(Settings settings) : settings_(settings) {}
  using Guard = std::lock_guard<std::recursive_mutex>;

  // fabric.cpp
  Link& link(Rank from, Rank to);
  void push(Rank to, core::Completion completion, Link* counted, std::string words = {},
            std::vector<std::byte> message = {});
  void mark_connected(Link& one_way);
  bool deliver_from(Link& from);
  void deliver(Link& on, Item& item);
  void done(Link& on, const Item& item, bool counted);
  void lose(Link& to_lost, ErrorCode code, std::string words);
  bool exists(const Port& port) const noexcept { return port.alive && !port.left; }
  // fake_transport.cpp
  bool post(Link& on, const core::WorkRequest& request);
  bool execute(Link& on, const core::WorkRequest& request);
  void record(const Link& on, const core::WorkRequest& request, bool at_once);
  void check(const Link& on, const core::WorkRequest& request);
  void open(Rank from, Rank to);
  std::size_t poll(Port& port, std::span<core::Completion> completions);
  void leave(Port& port);
  void vanish(Port& port);
  // memory.cpp
  core::Registration register_memory(Rank owner, std::span<std::byte> memory, MemoryKind kind);
  void deregister(const core::Registration& registration) noexcept;
  std::optional<std::uint64_t> import_key(Rank owner, const core::PackedKey& key) const noexcept;
  core::Mapping map(core::RemoteAddress remote, std::size_t bytes) const noexcept;
  std::string move_memory(const core::WorkRequest& request, std::span<const std::byte> data);

  mutable std::recursive_mutex mutex_;
  Settings settings_;
  std::map<Rank, Port> ports_;
  std::map<std::pair<Rank, Rank>, Link> links_;
  std::map<std::uint64_t, Region> regions_;
  std::uint64_t next_region_ = 1;
  std::uint64_t posts_ = 0, accepted_ = 0;
  std::uint64_t refuse_from_ = 0, refuse_until_ = 0;
  std::map<std::uint64_t, ErrorCode> failures_;
  bool silent_ = false;
  bool refuse_registration_ = false;
  std::vector<Record> records_;
  std::vector<std::string> violations_;
};

/// Ranks of one `job` (and process) share a fabric that delivers at once: for suites that run on any transport.
std::unique_ptr<core::Transport> make_fake_transport(core::Services& services, Rank rank, std::string_view job);

}  // namespace godwit::fake
