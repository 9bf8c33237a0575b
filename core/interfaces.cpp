#include "core/interfaces.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <godwit/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

namespace godwit::core {
namespace {

using AddressList = std::unique_ptr<ifaddrs, decltype(&freeifaddrs)>;

AddressList all_addresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) {
    throw Error(ErrorCode::bootstrap,
                fmt::format("the network interfaces of this host cannot be listed: {}", std::strerror(errno)));
  }
  return {list, &freeifaddrs};
}

/// "10.0.0.7", "fe80::1%eth0"; empty for what is neither IPv4 nor IPv6.
std::string address_text(const sockaddr* address) {
  const bool v6 = address->sa_family == AF_INET6;
  if (!v6 && address->sa_family != AF_INET) return {};
  char text[NI_MAXHOST];
  const socklen_t length = v6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (getnameinfo(address, length, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) return {};
  return text;
}

}  // namespace

bool interface_allowed(std::string_view name, const std::vector<std::string>& words) {
  if (words.empty()) return true;
  const bool exclude = words.front().starts_with('^');
  bool exact = false;  // like '^', '=' stands before the first word and holds for all
  bool found = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (i == 0 && exclude) word.remove_prefix(1);
    if (word.starts_with('=')) {
      if (i == 0) exact = true;
      word.remove_prefix(1);
      found = found || name == word;
    } else {
      found = found || (exact ? name == word : name.starts_with(word));
    }
  }
  return found != exclude;
}

std::vector<InterfaceAddress> interface_addresses(const std::vector<std::string>& words) {
  const AddressList list = all_addresses();
  std::vector<InterfaceAddress> addresses;
  std::set<std::string> names;
  for (const ifaddrs* entry = list.get(); entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
    const std::string address = address_text(entry->ifa_addr);
    if (address.empty()) continue;
    names.insert(entry->ifa_name);
    if (interface_allowed(entry->ifa_name, words))
      addresses.push_back({entry->ifa_name, address, (entry->ifa_flags & IFF_LOOPBACK) != 0});
  }
  if (addresses.empty()) {
    throw Error(ErrorCode::bootstrap, fmt::format("no network interface of this host fits GODWIT_SOCKET_IFNAME={}: "
                                                  "there are {}",
                                                  fmt::join(words, ","), fmt::join(names, ", ")));
  }
  return addresses;
}

}  // namespace godwit::core
