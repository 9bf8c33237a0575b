// Addresses of rdma_cm, and its failures in words. Pure.
#pragma once

#include "verbs/wire.hpp"

#include <rdma/rdma_cma.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include <sys/socket.h>

namespace godwit::verbs {

/// IPv4 for an IPv4-mapped address.
sockaddr_storage socket_address(const CmAddress& address) noexcept;
/// "10.1.2.3:4711", "[fd00::1]:4711"
std::string to_text(const CmAddress& address);

/// Private data of a connection request; longer on InfiniBand, which pads it. Nothing: it is none of ours.
std::optional<CmGreeting> read_greeting(std::span<const std::byte> bytes) noexcept;

/// What went wrong, between which ends, what to check. `status` as rdma_cm gives it: minus an errno value, or on
/// InfiniBand and RoCE the reason of a rejection.
std::string explain(rdma_cm_event_type event, int status, const std::string& here, const std::string& there);

}  // namespace godwit::verbs
