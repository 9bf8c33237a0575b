// What a card says of the verbs transport: how the side channel is reached, and what the ports speak. Pure.
#pragma once

#include "core/interfaces.hpp"
#include "verbs/rails.hpp"
#include "verbs/wire.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace godwit::verbs {

struct TransportAddress {
  std::vector<RailEnd> rails;                       // in use, best first
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

/// Of each rail its first GID, and no rate: both ends know the same of it.
std::array<RailWire, most_rails_in_use> to_wire(std::span<const RailEnd> rails);
std::vector<RailEnd> from_wire(std::span<const RailWire> wire);

}  // namespace godwit::verbs
