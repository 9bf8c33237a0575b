// What a card says of the verbs transport: how the side channel is reached, and what the port speaks. Pure.
#pragma once

#include "core/interfaces.hpp"
#include "verbs/facts.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace godwit::verbs {

struct TransportAddress {
  Protocol protocol = Protocol::infiniband;
  LinkLayer link = LinkLayer::infiniband;
  GidType gid_type = GidType::infiniband;
  Gid gid{};
  std::uint16_t port = 0;                           // TCP, of the side channel
  std::vector<std::array<std::uint8_t, 16>> hosts;  // IPv6 or IPv4-mapped, best first
};

/// At most 96 bytes: three hosts, the others are left out.
std::vector<std::byte> encode(const TransportAddress& address);
/// Nothing for bytes of another version, or malformed.
std::optional<TransportAddress> decode_address(std::span<const std::byte> bytes);

/// Addresses of this host in the order in which a peer should try them: of the adapter's own network device first, the
/// loopback only where there is nothing else. Link-local ones mean nothing elsewhere.
std::vector<std::array<std::uint8_t, 16>> reachable_hosts(std::span<const core::InterfaceAddress> interfaces,
                                                          const std::string& net_device);

/// Can a queue pair connect the two? Empty: yes, else why not.
std::string cannot_connect(const TransportAddress& here, const TransportAddress& there);

}  // namespace godwit::verbs
