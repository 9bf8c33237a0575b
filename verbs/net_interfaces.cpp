#include "verbs/net_interfaces.hpp"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

namespace godwit::verbs {
namespace {

unsigned ones(const void* mask, std::size_t bytes) {
  unsigned count = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    count += static_cast<unsigned>(std::popcount(static_cast<const std::uint8_t*>(mask)[i]));
  return count;
}

NetInterface& entry_of(std::vector<NetInterface>& interfaces, const char* name) {
  const auto found = std::ranges::find(interfaces, name, &NetInterface::name);
  return found != interfaces.end() ? *found : interfaces.emplace_back(NetInterface{name, {}, {}});
}

void add(NetInterface& interface, const sockaddr& address, const sockaddr* mask) {
  if (address.sa_family == AF_PACKET) {
    const auto& link = reinterpret_cast<const sockaddr_ll&>(address);
    if (link.sll_halen == interface.mac.size()) std::memcpy(interface.mac.data(), link.sll_addr, link.sll_halen);
    return;
  }
  NetInterface::Address ip;
  if (address.sa_family == AF_INET6) {
    std::memcpy(ip.gid.data(), &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, 16);
    if (mask != nullptr) ip.prefix_bits = ones(&reinterpret_cast<const sockaddr_in6*>(mask)->sin6_addr, 16);
  } else if (address.sa_family == AF_INET) {
    ip.gid[10] = ip.gid[11] = 0xff;
    std::memcpy(ip.gid.data() + 12, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, 4);
    if (mask != nullptr) ip.prefix_bits = 96 + ones(&reinterpret_cast<const sockaddr_in*>(mask)->sin_addr, 4);
  } else {
    return;
  }
  interface.addresses.push_back(ip);
}

}  // namespace

std::vector<NetInterface> system_net_interfaces() noexcept {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(first, freeifaddrs);
  try {
    std::vector<NetInterface> interfaces;
    for (const ifaddrs* one = all.get(); one != nullptr; one = one->ifa_next)
      if (one->ifa_addr != nullptr) add(entry_of(interfaces, one->ifa_name), *one->ifa_addr, one->ifa_netmask);
    return interfaces;
  } catch (...) {
    return {};
  }
}

}  // namespace godwit::verbs
