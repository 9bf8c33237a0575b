// What verbs transports send each other: frames over queue pairs, and messages of the side channel. Little-endian,
// checked in core/wire.hpp; described in docs/wire.md.
#pragma once

#include "core/wire.hpp"
#include "verbs/domains.hpp"
#include "verbs/facts.hpp"

#include <array>
#include <cstdint>

namespace godwit::verbs {

inline constexpr std::uint8_t protocol_version = 3;

/// First bytes of every send. Messages go on with a core::WireHeader and the payload.
struct Frame {
  enum class Kind : std::uint8_t {
    message,
    notify,  // `value`: imm, where the wire has no write with immediate
    credit,  // nothing but `credits`
  };
  std::uint8_t version = protocol_version;
  Kind kind = Kind::message;
  std::uint16_t credits = 0;  // of the receiver's, that are free again
  std::uint32_t value = 0;
};
static_assert(sizeof(Frame) == 8);

inline constexpr std::size_t message_overhead = sizeof(Frame) + sizeof(core::WireHeader);

/// One end of a queue pair, as the other end must know it.
struct PairAddress {
  Gid gid{};
  std::uint32_t number = 0;
  std::uint32_t first_packet = 0;  // PSN of what it sends
  std::uint32_t mtu = 0;           // bytes, largest
  std::uint16_t lid = 0;
  LinkLayer link = LinkLayer::infiniband;
  std::uint8_t max_reads = 0;  // that it answers at a time
};
static_assert(sizeof(PairAddress) == 32);

enum class SideMessage : std::uint8_t {
  hello,    // Hello, both ways
  ready,    // nothing: the queue pair of who connected can receive
  bye,      // Bye
  failed,   // words: why the sender has given the connection up
  recover,  // Recover
  resume,   // Resume
};
inline constexpr SideMessage last_side_message = SideMessage::resume;

struct SideHeader {
  std::uint32_t bytes = 0;  // that follow
  SideMessage kind = SideMessage::hello;
  std::uint8_t version = protocol_version;
  std::uint16_t magic = side_magic;
  static constexpr std::uint16_t side_magic = 0x5647;  // "GV"
};
static_assert(sizeof(SideHeader) == 8);
inline constexpr std::size_t longest_side_message = 4096;

/// Where rdma_cm listens for a port.
struct CmAddress {
  Gid ip{};                // IPv6, or IPv4-mapped
  std::uint16_t port = 0;  // 0: the port's queue pairs are not connected by rdma_cm
};

/// Private data of a connection request over rdma_cm, which belongs to a Hello of the side channel.
struct CmGreeting {
  std::uint64_t job = 0;
  std::uint64_t token = 0;  // of the Hello that answered
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::uint8_t version = protocol_version;
  std::uint8_t pad[7] = {};
};
static_assert(sizeof(CmGreeting) == 32);  // InfiniBand has room for 56 bytes

/// Eight bytes that a peer may read, to learn that its writes have taken effect.
struct FlushWord {
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
};

/// One of a host's ports in use: what decides with which of a peer's it is connected.
struct RailWire {
  Gid gid{};                     // zeros: none
  std::uint8_t kind = 0;         // 0: there is no such rail; else 1, + 2: iWARP, + 4: Ethernet, + 8 * GidType
  std::uint8_t prefix_bits = 0;  // of the GID, that name its subnet; 0: unknown
  std::uint8_t number = 0;       // in the order of the host's ports
  std::uint8_t distance = 0;     // from the process; 255: that or more
};
static_assert(sizeof(RailWire) == 20);

/// Queue pairs by route; number 0: that route is not offered.
using PairOffer = std::array<PairAddress, most_rails_in_use>;

struct Hello {
  std::uint64_t job = 0;  // hash of the job's id
  std::int32_t from = 0;  // ranks
  std::int32_t to = 0;
  std::array<RailWire, most_rails_in_use> rails{};  // best first
  PairOffer pairs{};
  std::uint32_t buffer_bytes = 0;  // the longest frame that the sender of this receives
  std::uint32_t credits = 0;       // frames that it can receive without answering
  std::uint32_t pid = 0;
  std::uint32_t flush_rkey = 0;
  std::uint64_t flush_address = 0;  // 0: a write's completion says that it has taken effect
  std::uint64_t token = 0;          // answers: to be named over rdma_cm
  Gid cm_ip{};
  std::uint16_t cm_port = 0;
  std::uint16_t same_host = 0;  // of who connects: whether it takes both for ranks of one host
  std::uint16_t pad[2] = {};
  char host[48] = {};                       // for words, zero-terminated
  char ports[most_rails_in_use][112] = {};  // for words, by rail: "mlx5_0:1, GID 3 10.1.2.3"
};

/// Queue pairs in the place of one that failed. Messages of an earlier round than the highest known mean nothing.
struct Recover {
  std::uint32_t round = 0;
  std::uint32_t avoid = 0;         // routes (bits) that have just failed: only if there is no other one
  std::uint64_t acknowledged = 0;  // frames that the sender of this knows to have arrived
  PairOffer pairs{};
};
static_assert(sizeof(Recover) == 80);

/// The fresh queue pair receives.
struct Resume {
  std::uint32_t round = 0;
  std::uint32_t pad = 0;
  std::uint64_t received = 0;  // frames over this connection: what comes after them is sent again
};

struct Bye {
  std::uint64_t sent = 0;  // frames and immediates over this connection
};

}  // namespace godwit::verbs
