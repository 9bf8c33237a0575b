// Who takes part, and by which transports and protocols they reach each other.
#pragma once

#include "common/seats.hpp"

#include <godwit/context.hpp>

#include <string>
#include <vector>

namespace godwit::apps {

/// Collective. One seat per rank, in rank order.
std::vector<Seat> gather_seats(Communicator& communicator);

/// The names of the transports from rank 0 to a neighbour on its host and to each other host, joined by "+". To be
/// called by rank 0, while the others are in (or on their way to) a barrier.
std::string transports_in_use(const Communicator& communicator, const std::vector<Seat>& seats);

/// "# shm to rank 1: send: eager up to 8192, rendezvous above" for each of the operations ("send", "put", as `godwit
/// info --protocols` names them). To be called by one rank, as transports_in_use().
std::string protocol_lines(const Communicator& communicator, Rank peer, const std::vector<std::string>& operations);

}  // namespace godwit::apps
