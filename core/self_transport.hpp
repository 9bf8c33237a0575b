// The transport of a rank to itself, so that protocols need no special case. Messages are copied into a bounded
// queue, memory is copied directly.
#pragma once

#include <memory>

#include "core/transport.hpp"

namespace godwit::core {

/// `max_payload`: bytes of an eager message.
std::unique_ptr<Transport> make_self_transport(Rank rank, std::size_t max_payload);

}  // namespace godwit::core
