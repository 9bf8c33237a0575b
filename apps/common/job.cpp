#include "common/job.hpp"

#include "common/switches.hpp"
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
  Seat seat{.boot = core::hash64(boot_id), .pid = ::getpid(), .host = {}, .cpus = own_cpus()};
  ::gethostname(seat.host.data(), seat.host.size() - 1);  // a longer name is cut; it is only shown
  return seat;
}

}  // namespace

std::vector<Seat> gather_seats(Communicator& communicator) {
  std::vector<Seat> seats(static_cast<std::size_t>(communicator.size()));
  communicator.allgather(own_seat(), seats);
  return seats;
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

std::string protocol_lines(const Communicator& communicator, Rank peer, const std::vector<std::string>& operations) {
  const std::string transport = runtime::transport_name_to(communicator, peer);
  const std::vector<runtime::ProtocolRange> ranges = runtime::protocol_ranges(communicator, peer);
  std::string lines;
  for (const std::string& operation : operations) {
    std::vector<ProtocolSwitch> reachable, other;
    for (const runtime::ProtocolRange& range : ranges)
      if (range.operation == operation) (range.reachable ? reachable : other).push_back({range.protocol, range.upto});
    lines += fmt::format("# {} to rank {}: {}\n", transport, peer, switches_text(operation, reachable, other));
  }
  return lines;
}

}  // namespace godwit::apps
