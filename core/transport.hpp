// The seam between protocols and wires. A transport moves work requests; it knows neither tags nor launchers.
//
// Life of a connection: create -> serialize (Transport::address, in the card) -> exchange (bootstrap) ->
// connect (open_endpoint, on first use). Threads: everything here is called by the worker's thread (or under
// its lock), except wake(). A transport's own background work runs on the ServiceThread and hands its
// results over through poll().
#pragma once

#include "core/wire.hpp"

#include <godwit/error.hpp>
#include <godwit/types.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace godwit::core {

class Card;

/// When a put's `done` completion comes: the local buffer is reusable, or the data is visible at the target.
enum class PutDone : std::uint8_t { local, remote };

/// Who executes atomics on a word: they are atomic only within one domain.
enum class AtomicsDomain : std::uint8_t { none, cpu, adapter };

/// What an endpoint can do; fixed once it is connected. Sizes in bytes.
struct Capabilities {
  std::size_t max_message = 0;  // header + payload of one send; at least smallest_max_message (messages.hpp)
  std::size_t max_inline = 0;   // payload up to this is reusable when post() has accepted the send
  std::size_t max_rdma = 0;     // one put or get; protocols split longer ones
  bool rma = false;             // put and get on keys that import_key() accepts
  bool private_rma = false;     // also on memory that was not made by godwit::allocate
  bool put_notify = false;      // put + imm in one request
  PutDone put_done = PutDone::local;
  bool early_put = false;  // Endpoint::put() returns before it has taken effect: only a flush tells
  AtomicsDomain atomics = AtomicsDomain::none;  // 64-bit fetch_add and compare_swap as work requests
  double latency_s = 0;                         // of a small send, for cost models
  double bandwidth_Bps = 0;                     // of a large put
  double message_Bps = 0;                       // of large messages, copied in and out; 0: half of bandwidth_Bps
  double rma_overhead_s = 0;                    // fixed cost of one put or get

  double message_s(double bytes) const noexcept {
    return message_Bps > 0 ? bytes / message_Bps : 2 * bytes / bandwidth_Bps;
  }
};

/// A transport's name for local memory (verbs: lkey).
struct LocalKey {
  std::uint64_t value = 0;
};

/// What the owner of memory gives to peers so that they can reach it (verbs: rkey and more).
struct PackedKey {
  std::array<std::byte, 40> bytes{};
};

/// A peer's memory as one endpoint sees it: `handle` comes from import_key().
struct RemoteAddress {
  std::uint64_t address = 0;
  std::uint64_t handle = 0;
};

enum class Op : std::uint8_t { send, put, get, fetch_add, compare_swap, flush };

/// A value: queued, logged, traced, faked, compared in tests.
struct WorkRequest {
  Op op = Op::send;
  bool signalled = true;         // false: no completion when it succeeds; failures always come
  bool fence = false;            // starts after everything posted before it has taken effect
  WireHeader header{};           // send: goes before the payload
  std::span<std::byte> local{};  // payload, destination of a get, result of an atomic
  LocalKey lkey{};
  RemoteAddress remote{};
  std::optional<std::uint32_t> imm{};  // put: notification, arrives after the payload
  std::uint64_t operand = 0;           // fetch_add: addend; compare_swap: new value
  std::uint64_t compare = 0;           // compare_swap: expected value
  std::uint64_t cookie = 0;            // comes back in the completion
};

struct Completion {
  enum class Kind : std::uint8_t {
    done,       // a signalled work request of ours, or one that failed; cookie names it
    message,    // a send of the peer has arrived: payload = header + payload, valid until the next poll
    notify,     // a put with imm of the peer has arrived: imm
    connected,  // the endpoint can post now; its capabilities are final. Messages of the peer may come before it
    peer_lost,  // no more will come from this peer: status peer_failed, or ok after its good-bye.
                // Everything that it had sent before has been delivered first.
  };
  Kind kind = Kind::done;
  ErrorCode status = ErrorCode::ok;
  Rank peer = 0;
  std::uint64_t cookie = 0;
  std::uint32_t imm = 0;
  std::span<std::byte> payload{};
  std::string_view detail{};  // words for an error, valid until the next poll
};

/// How a peer can be reached.
struct PeerInfo {
  Rank rank = 0;
  const Card* card = nullptr;          // identity of its host and process
  std::span<const std::byte> address;  // what this transport's address() gave there; empty: it has none
};

struct Reach {
  bool ok = false;
  std::string reason;  // "same host, boot id 1f3c..." or "other host (boot ids differ)"
};

/// A peer's memory in our address space.
struct Mapping {
  enum class State : std::uint8_t {
    mapped,
    later,  // asked for: look again after a poll
    never,  // not reachable by loads and stores
  };
  State state = State::never;
  /// Stays readable and writable as long as it is held, whatever becomes of the peer.
  std::shared_ptr<std::byte> memory{};
};

class Endpoint {
 public:
  virtual ~Endpoint() = default;
  /// Accepts a prefix in order and returns its length; shorter means that the queue is full or the endpoint
  /// is not connected yet: post the rest again later. Never fails: failures come as completions. After a failed
  /// send the connection is unusable, because the peer misses a message; put, get and atomics may fail alone.
  virtual std::size_t post(std::span<const WorkRequest> requests) noexcept = 0;
  /// The path of small messages: as post() of one unsignalled send of at most max_inline bytes, without its
  /// WorkRequest. False: not accepted, as by post().
  virtual bool send(const WireHeader& header, std::span<const std::byte> payload) noexcept {
    WorkRequest request;
    request.signalled = false;
    request.header = header;
    request.local = {const_cast<std::byte*>(payload.data()), payload.size()};  // only read by a send
    return post({&request, 1}) == 1;
  }
  /// The short path: as post(), but without WorkRequest and completion. True: the local memory is reusable, and it has
  /// taken effect at the target after all that was posted before (capabilities().early_put: it will, in that order;
  /// failures end the connection); a notification is on its way. False: nothing has happened, post it. Sizes are not
  /// limited: what is too long is refused, too.
  virtual bool put(std::span<const std::byte> /*data*/, RemoteAddress /*remote*/,
                   const std::optional<std::uint32_t>& /*imm*/) noexcept {
    return false;
  }
  /// Of memory that is mapped here: it is done when this returns.
  virtual bool get(std::span<std::byte> /*data*/, RemoteAddress /*remote*/) noexcept { return false; }
  /// The path of short gets: as post() of one get, without its WorkRequest. False: not accepted, post it.
  virtual bool begin_get(std::span<std::byte> /*data*/, RemoteAddress /*remote*/, std::uint64_t /*cookie*/) noexcept {
    return false;
  }
  /// As get(). fetch_add or compare_swap of 8 bytes; `before` is the value that it found.
  virtual bool atomic(Op /*op*/, RemoteAddress /*remote*/, std::uint64_t /*operand*/, std::uint64_t /*compare*/,
                      std::uint64_t& /*before*/) noexcept {
    return false;
  }
  virtual const Capabilities& capabilities() const noexcept = 0;
  /// Handle for a key that the peer packed, or nothing if this endpoint cannot reach that memory.
  virtual std::optional<std::uint64_t> import_key(const PackedKey& key) noexcept = 0;
  /// False for a handle from import_key() whose memory put and get reach, but fetch_add and compare_swap do not.
  virtual bool has_atomics(std::uint64_t /*handle*/) const noexcept {
    return capabilities().atomics != AtomicsDomain::none;
  }
  /// The `bytes` at a peer's address under a handle from import_key().
  virtual Mapping map(RemoteAddress /*remote*/, std::size_t /*bytes*/) noexcept { return {}; }
  /// One line for `GODWIT_DEBUG=info`: what is used towards this peer, and why.
  virtual std::string describe() const = 0;
  /// What keeps it from moving anything just now, in words; empty: nothing.
  virtual std::string trouble() const { return {}; }
};

/// Memory known to a transport.
struct Registration {
  LocalKey lkey;
  PackedKey key;
  bool atomics = false;  // the transport's adapter here executes 64-bit atomics that come with this key
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string_view name() const noexcept = 0;
  /// What peers need to connect to us; part of the card, at most 96 bytes.
  virtual std::span<const std::byte> address() const noexcept = 0;
  /// Of this rank itself: where its adapter executes atomics, that it can ask it to.
  virtual Reach reaches(const PeerInfo& peer) const = 0;
  /// Returns at once and connects in the background. Also called for a peer that has connected to us.
  virtual std::unique_ptr<Endpoint> open_endpoint(const PeerInfo& peer) = 0;
  /// Throws Error when the memory cannot be registered. Cheap where the wire needs no registration.
  virtual Registration register_memory(std::span<std::byte> memory, MemoryKind kind) = 0;
  virtual void deregister_memory(const Registration& registration) noexcept = 0;
  /// Fills in up to completions.size() and returns how many. Invalidates the payloads of the poll before.
  virtual std::size_t poll(std::span<Completion> completions) noexcept = 0;
  /// Prepares for sleeping: after arm() returned true, anything new makes event_fd() readable. False: there
  /// is something to poll already.
  virtual bool arm() noexcept = 0;
  virtual void disarm() noexcept = 0;
  virtual int event_fd() const noexcept = 0;
  /// Nothing comes from it before open_endpoint() has been called: until then it need not be polled.
  virtual bool silent_until_opened() const noexcept { return false; }
  /// poll() looks at memory that other cores of this host write: see relax().
  virtual bool watches_memory() const noexcept { return false; }
  /// Good-bye to all peers: they get peer_lost with status ok. Then no more is sent.
  virtual void shutdown() noexcept = 0;
};

}  // namespace godwit::core
