// Which of this host's addresses the TCP store listens on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace godwit::pmi {

/// Whether GODWIT_SOCKET_IFNAME lets an interface be used. NCCL's grammar: "eth" every name that begins so,
/// "=eth0" this name, "^docker,veth" (the sign before the first word) all that do not begin so, "^=eth1" all
/// but this name. Nothing said: every interface. Pure.
bool interface_allowed(std::string_view name, const std::vector<std::string>& words);

/// IPv4 and IPv6 addresses, in text, of the interfaces that are up and allowed. Throws Error(bootstrap) naming
/// the interfaces there are if none is allowed.
std::vector<std::string> interface_addresses(const std::vector<std::string>& words);

}  // namespace godwit::pmi
