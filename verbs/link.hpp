// The connection with one peer, as the worker has it. Threads: the worker's, after the control plane has made it.
#pragma once

#include "core/transport.hpp"
#include "verbs/adapter.hpp"
#include "verbs/queue_pair.hpp"
#include "verbs/receives.hpp"
#include "verbs/region.hpp"
#include "verbs/routes.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace godwit::verbs {

/// "rank 3 (node1, pid 4711)"
struct PeerName {
  Rank rank = 0;
  std::string host;
  std::uint32_t pid = 0;
  std::string text() const;
};

/// What the control plane has agreed upon with the peer.
struct Connection {
  Connection(QueuePair first, std::vector<Route> its_routes, std::size_t its_route, std::shared_ptr<Receives> receives)
      : routes(std::move(its_routes)),
        route(its_route),
        granted(receives->frames()),
        grant(std::move(receives)),
        pair(std::move(first)) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Adapter& adapter() const noexcept { return pair.adapter(); }
  const std::string& peer_port() const noexcept { return peer_ports[routes[route].there]; }

  const std::vector<Route> routes;
  std::size_t route;            // in use
  const std::uint32_t granted;  // frames that the peer may have under way to us
  std::shared_ptr<Receives> grant;
  QueuePair pair;
  std::uint32_t credits = 0;      // frames that we may have under way to it
  std::uint32_t peer_buffer = 0;  // bytes of the longest frame that it receives
  FlushWord peer_flush;           // iWARP
  /// By rail of the peer's: "mlx5_2:1, GID 3 10.1.2.4": for words
  std::array<std::string, most_rails_in_use> peer_ports;
};

/// A work request under way, and what it takes to post it once more.
struct Slot {
  std::uint64_t cookie = 0;
  core::Op op = core::Op::send;
  bool report = false;  // the worker gets a completion
  bool holds = false;   // `buffer`, `copy_to`, `registered` are valid
  std::uint8_t opcode = IBV_WR_RDMA_WRITE;
  std::uint8_t flags = 0;                  // IBV_SEND_*
  std::uint32_t bytes = 0;                 // local ones
  std::uint32_t immediate = 0;             // as on the wire
  Buffer* buffer = nullptr;                // goes back when it is done
  std::byte* copy_to = nullptr;            // get, atomics: from `buffer`
  const Registered* registered = nullptr;  // given back when it is done
  std::uint64_t local = 0;                 // address; of data in the work request: in Link::copies
  std::uint64_t remote = 0;
  Keys lkeys, rkeys;  // where any are needed

  /// The peer counts it: a send, or a write with immediate.
  bool counted() const noexcept { return opcode == IBV_WR_SEND || opcode == IBV_WR_RDMA_WRITE_WITH_IMM; }
};

/// The queue pair has failed for a cause that may pass: it is replaced. transport_recovery.cpp has the steps.
struct Recovery {
  enum class Step : std::uint8_t {
    drain,   // what is in the completion queue is taken, then the control plane asks the peer
    asked,   // until both have a fresh queue pair
    made,    // it is there; frames that the peer knows to be here still come
    counted  // the peer was told how many frames came, and tells us
  };
  Step step = Step::drain;
  std::uint32_t attempts = 0;
  std::uint32_t round = 0;  // of the queue pair in use, or being made; the first is 0
  std::unique_ptr<QueuePair> fresh;
  std::size_t fresh_route = 0;
  std::uint32_t avoid = 0;       // routes (bits) that failed since it began
  std::uint64_t known_here = 0;  // frames of which the peer knows that they came here
  std::uint64_t drained_at = 0;  // as Link's
  std::int64_t since_ms = 0;     // it began
  std::int64_t made_ms = 0;      // `fresh` came
  std::uint64_t progress = 0;    // what had gone well when it began
  std::string why;
};

struct Link : std::enable_shared_from_this<Link> {
  enum class State : std::uint8_t { connecting, open, recovering, draining, lost };

  explicit Link(PeerName name) : peer(std::move(name)) {}

  Rank rank() const noexcept { return peer.rank; }
  std::uint64_t under_way() const noexcept { return posted - completed; }
  Slot& slot(std::uint64_t number) noexcept { return slots.data()[number & slot_mask]; }
  /// Where the data of a short work request is kept until it is done: `inline_bytes`.
  std::byte* copy(std::uint64_t number) noexcept { return copies.get() + (number & slot_mask) * inline_bytes; }

  /// The connection has another queue pair.
  void follow_pair() noexcept {
    rail = connection->adapter().rail();
    key_shift = Keys::shift_of(rail);
    peer_key_shift = Keys::shift_of(connection->routes[connection->route].there);
  }

  const PeerName peer;
  State state = State::connecting;
  bool may_post = false;  // the peer's queue pair receives
  bool iwarp = false;
  bool speaks_first = false;  // iWARP: who connected sends first; a frame of kind `credit` is due
  std::unique_ptr<Connection> connection;
  unsigned rail = 0;                           // ours, of the queue pair in use
  unsigned key_shift = 0, peer_key_shift = 0;  // of its keys
  core::Capabilities capabilities;
  std::uint32_t inline_bytes = 0;
  std::uint32_t depth = 0;    // work requests that may be under way
  std::uint32_t credits = 0;  // frames that may be sent now
  std::uint32_t owed = 0;     // receives posted again that the peer does not know of
  std::uint32_t quiet = 0;    // work requests since the last that asked for a completion
  std::uint64_t posted = 0;   // work requests, ever
  std::uint64_t completed = 0;
  std::uint64_t sent = 0;  // frames and immediates, ever
  std::uint64_t received = 0;
  std::vector<Slot> slots;      // a ring of a power of two
  std::uint64_t slot_mask = 0;  // their number - 1
  std::unique_ptr<std::byte[]> copies;
  int endpoints = 0;  // open ones
  ErrorCode lost_status = ErrorCode::ok;
  std::string lost_detail;
  bool peer_gave_up = false;  // lost_detail is what it told: what is found out here may say more
  std::int64_t draining_since_ms = 0;
  std::uint64_t drained_at = 0;  // when so many entries have been polled, all that were in the queue have been
  std::uint64_t last_word = 0;   // frames that the peer had sent when it said good-bye
  Recovery recovery;
};

}  // namespace godwit::verbs
