// What a test says of an adapter that does not exist. Plain data.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "verbs/facts.hpp"

namespace godwit::fake_verbs {

/// A device; facts.ports[].gids may have holes, facts.ports[].active says whether the link is up.
struct DeviceSetup {
  verbs::DeviceFacts facts;
  unsigned max_inline = 512;  // bytes
  unsigned max_queue_pairs = 1048560;
  unsigned max_regions = 524287;
  bool dmabuf = false;           // reg_dmabuf_mr works on whatever can be mapped
  bool retry_7_endless = false;  // retry_cnt 7 never gives up, as on soft-RoCE
  std::map<std::string, std::string>
      sysfs{};  // before what is made from `facts`: "ports/1/rate" -> "200 Gb/sec (4X HDR)"
};

/// An adapter of InfiniBand: EDR, one port, GID 0 only.
DeviceSetup infiniband_device(std::string name, std::uint16_t lid);
/// Soft-RoCE: GID 0 link-local (v2), GID 1 of the address (v2).
DeviceSetup roce_device(std::string name, std::string_view ipv4);
/// Soft-iWARP: GID 0 of the MAC address 52:54:00:..; no immediate data, no atomics, connected by
/// Fabric::connect_iwarp() only.
DeviceSetup iwarp_device(std::string name, std::string_view ipv4);

verbs::Gid ipv4_gid(std::string_view address);
verbs::Gid link_local_gid(std::uint64_t interface_id);

}  // namespace godwit::fake_verbs
