// This host's addresses: what the TCP store and side channels listen on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace godwit::core {

/// Whether GODWIT_SOCKET_IFNAME lets an interface be used. NCCL's grammar: "eth" every name that begins so,
/// "=eth0" this name, "^docker,veth" (the sign before the first word) all that do not begin so, "^=eth1" all
/// but this name. Nothing said: every interface. Pure.
bool interface_allowed(std::string_view name, const std::vector<std::string>& words);

struct InterfaceAddress {
  std::string interface;
  std::string address;  // in text: "10.0.0.7", "fe80::1%eth0"
  bool loopback = false;
};

/// IPv4 and IPv6 addresses of the interfaces that are up and allowed. Throws Error(bootstrap) naming
/// the interfaces there are if none is allowed.
std::vector<InterfaceAddress> interface_addresses(const std::vector<std::string>& words);

}  // namespace godwit::core
