#include "verbs/cm_words.hpp"

#include "verbs/queue_pair.hpp"

#include <fmt/format.h>

#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace godwit::verbs {
namespace {

constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool is_ipv4(const Gid& ip) noexcept { return std::memcmp(ip.data(), mapped.data(), mapped.size()) == 0; }

// InfiniBand Architecture 1.5, table 111.
std::string rejection_words(int reason) {
  switch (reason) {
    case 1:
    case 3: return "no resources left there";
    case 8: return "nobody listens there";
    case 10: return "no answer in time";
    case 28: return "refused by Godwit there: it no longer expects this connection";
    default: return fmt::format("reason {}", reason);
  }
}

std::string status_words(rdma_cm_event_type event, int status) {
  if (status == 0) return {};
  if (status > 0 && event == RDMA_CM_EVENT_REJECTED) return fmt::format(" ({})", rejection_words(status));
  return fmt::format(" ({})", std::strerror(status < 0 ? -status : status));
}

const char* meaning(rdma_cm_event_type event) {
  switch (event) {
    case RDMA_CM_EVENT_ADDR_ERROR: return "the address was not resolved";
    case RDMA_CM_EVENT_ROUTE_ERROR: return "no route was found";
    case RDMA_CM_EVENT_UNREACHABLE: return "the peer did not answer";
    case RDMA_CM_EVENT_REJECTED: return "the peer refused";
    case RDMA_CM_EVENT_CONNECT_ERROR: return "the connection could not be made";
    case RDMA_CM_EVENT_DEVICE_REMOVAL: return "the adapter was removed";
    case RDMA_CM_EVENT_DISCONNECTED: return "the connection was ended";
    default: return rdma_event_str(event);
  }
}

std::string what_to_check(rdma_cm_event_type event) {
  switch (event) {
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
      return "do the two addresses reach each other (`ip route get` and `ping -I` from the one to the other), are both "
             "ports up (`godwit ibstat`), does a firewall drop packets?";
    case RDMA_CM_EVENT_REJECTED:
    case RDMA_CM_EVENT_CONNECT_ERROR:
      return "is the peer still there, and does its log say why? A firewall may reject the port (iWARP: TCP), RoCE "
             "needs UDP port 4791";
    case RDMA_CM_EVENT_DEVICE_REMOVAL: return "`dmesg` and `godwit ibstat` show the adapters that are left";
    case RDMA_CM_EVENT_DISCONNECTED:
      return "likely: one end used an address or key that the other had freed, or out of its bounds; a TCP connection "
             "that broke (iWARP; `dmesg` on both hosts); an adapter that was reset";
    default: return "`dmesg` on both hosts may say more";
  }
}

}  // namespace

sockaddr_storage socket_address(const CmAddress& address) noexcept {
  sockaddr_storage storage{};
  if (is_ipv4(address.ip)) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(address.port);
    std::memcpy(&v4.sin_addr, address.ip.data() + mapped.size(), sizeof v4.sin_addr);
    std::memcpy(&storage, &v4, sizeof v4);
  } else {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(address.port);
    std::memcpy(&v6.sin6_addr, address.ip.data(), sizeof v6.sin6_addr);
    std::memcpy(&storage, &v6, sizeof v6);
  }
  return storage;
}

std::string to_text(const CmAddress& address) {
  const std::string ip = to_text(address.ip);
  return is_ipv4(address.ip) ? fmt::format("{}:{}", ip, address.port) : fmt::format("[{}]:{}", ip, address.port);
}

std::optional<CmGreeting> read_greeting(std::span<const std::byte> bytes) noexcept {
  CmGreeting greeting;
  if (bytes.size() < sizeof greeting) return std::nullopt;
  std::memcpy(&greeting, bytes.data(), sizeof greeting);
  return greeting.version == protocol_version ? std::optional(greeting) : std::nullopt;
}

std::string explain(rdma_cm_event_type event, int status, const std::string& here, const std::string& there) {
  return fmt::format("rdma_cm: {}{}; here {}, there {}. Check: {}", meaning(event), status_words(event, status), here,
                     there, what_to_check(event));
}

}  // namespace godwit::verbs
