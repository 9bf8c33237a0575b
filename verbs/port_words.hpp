// The numbers of a port's attributes in words and units. Pure. Threads: any.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace godwit::verbs {

std::string state_words(ibv_port_state state);            // "Active", "Down", "Initializing", "Armed"
std::string physical_state_words(std::uint8_t physical);  // "LinkUp", "Polling", "Disabled"
unsigned mtu_bytes(ibv_mtu mtu) noexcept;                 // 0: not a value of the enumeration

struct LinkSpeed {
  double rate_Gbps = 0;  // of all lanes; 0: unknown
  unsigned lanes = 0;
  std::string name;  // "EDR"; empty: unknown
};

/// `rate` is what sysfs has, "100 Gb/sec (4X EDR)", which knows speeds that the attributes have no bits for; where it
/// is empty the attributes' bits are used.
LinkSpeed link_speed(std::string_view rate, std::uint8_t active_speed, std::uint8_t active_width);

}  // namespace godwit::verbs
