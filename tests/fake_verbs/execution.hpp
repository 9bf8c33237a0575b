// What a request does at both ends. Internal to the fake.
#pragma once

#include <optional>

#include "fake_verbs/pieces.hpp"
#include "fake_verbs/world.hpp"

namespace godwit::fake_verbs {

/// The local memory of request `number`, or why it has none.
ibv_wc_status collect(World& world, QueuePair& pair, std::uint64_t number, Pieces& local);
/// Copies what is to be sent out of the caller's memory.
void keep(SendRequest& request, const Pieces& local);
/// Executes at the peer; none: it waits for a receive. Errors put the peer into ERR as the specification says.
std::optional<ibv_wc_status> execute(World& world, QueuePair& pair, QueuePair& peer, SendRequest& request,
                                     const Pieces& local);
/// What was kept of a read or an atomic arrives.
ibv_wc_status place_response(World& world, QueuePair& pair, std::uint64_t number);

}  // namespace godwit::fake_verbs
