// Who takes part: pid and host of every rank, for headings, memory budgets and the report.
#pragma once

#include <godwit/context.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace godwit::apps {

/// One rank. Ranks with equal `boot` run on one kernel and share its memory.
struct Seat {
  std::uint64_t boot = 0;
  std::int64_t pid = 0;
  std::array<char, 64> host{};
};

/// Collective. One seat per rank, in rank order.
std::vector<Seat> gather_seats(Communicator& communicator);

/// Ranks on the same kernel as `rank`, itself included. Pure.
std::size_t ranks_beside(const std::vector<Seat>& seats, Rank rank);
/// The first rank of each host. Pure.
std::vector<Rank> first_of_each_host(const std::vector<Seat>& seats);
/// "# rank   0  pid   4711  host node0", one line per rank. Pure.
std::string seat_lines(const std::vector<Seat>& seats);

/// The names of the transports from rank 0 to a neighbour on its host and to each other host, joined by "+". To be
/// called by rank 0, while the others are in (or on their way to) a barrier.
std::string transports_in_use(const Communicator& communicator, const std::vector<Seat>& seats);

}  // namespace godwit::apps
