#include "common/job.hpp"

#include "core/text.hpp"
#include "runtime/inspect.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <stdexcept>

namespace godwit::apps {

namespace {

Seat own_seat() {
  std::string boot_id;
  if (!(std::ifstream("/proc/sys/kernel/random/boot_id") >> boot_id))
    throw std::runtime_error("/proc/sys/kernel/random/boot_id cannot be read");
  Seat seat{.boot = core::hash64(boot_id), .pid = ::getpid()};
  ::gethostname(seat.host.data(), seat.host.size() - 1);  // a longer name is cut; it is only shown
  return seat;
}

}  // namespace

std::vector<Seat> gather_seats(Communicator& communicator) {
  std::vector<Seat> seats(static_cast<std::size_t>(communicator.size()));
  communicator.allgather(own_seat(), seats);
  return seats;
}

std::size_t ranks_beside(const std::vector<Seat>& seats, Rank rank) {
  const std::uint64_t boot = seats[static_cast<std::size_t>(rank)].boot;
  return static_cast<std::size_t>(
      std::count_if(seats.begin(), seats.end(), [boot](const Seat& seat) { return seat.boot == boot; }));
}

std::vector<Rank> first_of_each_host(const std::vector<Seat>& seats) {
  std::set<std::uint64_t> seen;
  std::vector<Rank> firsts;
  for (std::size_t rank = 0; rank < seats.size(); ++rank)
    if (seen.insert(seats[rank].boot).second) firsts.push_back(static_cast<Rank>(rank));
  return firsts;
}

std::string seat_lines(const std::vector<Seat>& seats) {
  std::string lines;
  for (std::size_t rank = 0; rank < seats.size(); ++rank)
    lines += fmt::format("# rank {:>3}  pid {:>6}  host {}\n", rank, seats[rank].pid, seats[rank].host.data());
  return lines;
}

std::string transports_in_use(const Communicator& communicator, const std::vector<Seat>& seats) {
  if (seats.size() == 1) return runtime::transport_name_to(communicator, 0);
  std::vector<Rank> peers = first_of_each_host(seats);
  peers.erase(peers.begin());  // this rank
  for (std::size_t rank = 1; rank < seats.size(); ++rank)
    if (seats[rank].boot == seats[0].boot) {
      peers.push_back(static_cast<Rank>(rank));
      break;
    }
  std::set<std::string> names;
  for (Rank peer : peers) names.insert(runtime::transport_name_to(communicator, peer));
  return fmt::format("{}", fmt::join(names, "+"));
}

}  // namespace godwit::apps
