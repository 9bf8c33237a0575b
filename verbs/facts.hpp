// What adapters say of themselves, as plain data: every choice is a pure function over these tables.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace godwit::verbs {

enum class LinkLayer : std::uint8_t { infiniband, ethernet };
enum class GidType : std::uint8_t { infiniband, roce_v1, roce_v2 };
/// What a device speaks; RoCE is `infiniband` over LinkLayer::ethernet.
enum class Protocol : std::uint8_t { infiniband, iwarp };

using Gid = std::array<std::uint8_t, 16>;  // network byte order

struct GidEntry {
  unsigned index = 0;
  Gid gid{};
  GidType type = GidType::infiniband;
  std::string net_device;    // "eth0"; empty on InfiniBand
  unsigned prefix_bits = 0;  // of the GID, that name its subnet: 96 + 24 for an IPv4 /24; 0: unknown
  friend bool operator==(const GidEntry&, const GidEntry&) = default;
};

/// A network interface, as far as it says something of GIDs.
struct NetInterface {
  struct Address {
    Gid gid{};  // IPv4 as ::ffff:a.b.c.d
    unsigned prefix_bits = 0;
  };
  std::string name;
  std::array<std::uint8_t, 6> mac{};  // zeros: none
  std::vector<Address> addresses;
};

struct PortFacts {
  unsigned number = 1;
  bool active = false;
  std::string state;           // "Active", "Down", "Initializing", "Armed"
  std::string physical_state;  // "LinkUp", "Disabled", "Polling"
  LinkLayer link = LinkLayer::infiniband;
  unsigned mtu = 0;      // bytes, active
  unsigned max_mtu = 0;  // bytes
  double rate_Gbps = 0;  // of all lanes
  unsigned lanes = 0;
  std::string speed;       // of a lane: "EDR"; empty: unknown
  std::string net_device;  // of the port, as far as its GIDs tell; empty on InfiniBand
  std::uint16_t lid = 0;
  std::uint16_t sm_lid = 0;
  std::uint8_t lmc = 0;
  std::uint32_t capabilities = 0;    // IBV_PORT_*
  std::size_t max_message = 0;       // bytes
  std::vector<GidEntry> gids;        // empty slots are left out
  std::vector<std::uint16_t> pkeys;  // by index, 0: empty slot
};

struct DeviceFacts {
  std::string name;  // "mlx5_0"
  Protocol protocol = Protocol::infiniband;
  std::string model;                      // "MT4123"; may be empty, as the next
  std::string board, firmware, hardware;  // as sysfs has them
  std::uint64_t node_guid = 0, system_guid = 0;
  int numa_node = -1;  // -1: unknown
  bool atomics = false;
  unsigned max_send_requests = 0, max_sge = 0, max_srq_requests = 0, max_completions = 0, max_reads = 0;
  std::size_t max_registration = 0;  // bytes
  std::vector<PortFacts> ports;
};

}  // namespace godwit::verbs
