// The card: what every rank publishes at start-up, at most 256 bytes. Identity of host and process, and the
// transports' addresses. A value. The form on the wire:
//
//   "gw", u8 wire_version, u64 boot, u64 net, u64 pid namespace, u32 pid, u16 cpu_count, u32 cpu_hash, u16 core,
//   u8 n, n bytes of host name, u8 number of addresses, and for each: u8 n, n bytes of name, u8 m, m bytes
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace godwit::core {

inline constexpr std::size_t max_card_size = 256;
inline constexpr std::uint16_t no_core = 0xffff;

/// Two processes with equal `boot` run on one kernel; what they share there depends on the namespaces.
struct HostIdentity {
  std::uint64_t boot = 0;           // hash of the kernel's boot id
  std::uint64_t net_namespace = 0;  // inode numbers of /proc/self/ns/*
  std::uint64_t pid_namespace = 0;
  friend bool operator==(const HostIdentity&, const HostIdentity&) = default;
};

class Card {
 public:
  HostIdentity host;
  std::uint32_t pid = 0;
  std::uint16_t cpu_count = 0;   // allowed CPUs
  std::uint32_t cpu_hash = 0;    // of the affinity mask: equal masks share their CPUs
  std::uint16_t core = no_core;  // bound to CPUs of one core: its lowest; no_core: to more, or it is not known
  std::string host_name;         // for messages only; cut at 40 bytes
  std::vector<std::pair<std::string, std::vector<std::byte>>> addresses;  // transport name -> address

  /// This process, without addresses. `host_id` (option HOST_ID), unless empty, makes processes with different
  /// values look as if on different hosts. Throws Error(bootstrap) where /proc does not tell.
  static Card of_this_process(std::string_view host_id = {});
  /// Address of a transport, empty if the peer has none of that name.
  std::span<const std::byte> address_of(std::string_view transport) const noexcept;
  /// Throws Error(internal) above max_card_size; cuts host_name.
  std::vector<std::byte> encode() const;
  /// Throws Error(bootstrap) for a card that is malformed or of another wire version.
  static Card decode(std::span<const std::byte> bytes);
};

}  // namespace godwit::core
