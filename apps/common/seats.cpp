#include "common/seats.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <set>
#include <stdexcept>

namespace godwit::apps {

std::size_t CpuSet::count() const noexcept {
  std::size_t bits = 0;
  for (const std::uint64_t word : words) bits += static_cast<std::size_t>(std::popcount(word));
  return bits;
}

bool CpuSet::is_part_of(const CpuSet& other) const noexcept {
  for (std::size_t i = 0; i < words.size(); ++i)
    if ((words[i] & ~other.words[i]) != 0) return false;
  return true;
}

CpuSet own_cpus() {
  CpuSet cpus;
  if (::sched_getaffinity(0, sizeof cpus.words, reinterpret_cast<cpu_set_t*>(cpus.words.data())) != 0)
    throw std::runtime_error(fmt::format("sched_getaffinity: {}", std::strerror(errno)));
  return cpus;
}

std::string cpus_text(const CpuSet& cpus) {
  std::string list;
  for (std::size_t first = 0; first < CpuSet::most; ++first) {
    if (!cpus.has(first)) continue;
    std::size_t last = first;
    while (last + 1 < CpuSet::most && cpus.has(last + 1)) ++last;
    list += fmt::format("{}{}", list.empty() ? "" : ",", first);
    if (last > first) list += fmt::format("-{}", last);
    first = last;
  }
  return fmt::format("{} {}", cpus.count() == 1 ? "cpu" : "cpus", list);
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
    lines += fmt::format("# rank {:>3}  pid {:>6}  host {}  {}\n", rank, seats[rank].pid, seats[rank].host.data(),
                         cpus_text(seats[rank].cpus));
  return lines;
}

std::string sharing_lines(const std::vector<Seat>& seats, std::size_t ranks) {
  std::string lines;
  ranks = std::min(ranks, seats.size());
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const Seat& seat = seats[rank];
    std::size_t sharers = 0;
    bool first_of_its_set = true;
    for (std::size_t other = 0; other < ranks; ++other) {
      if (seats[other].boot != seat.boot) continue;
      if (seats[other].cpus.is_part_of(seat.cpus)) ++sharers;
      if (other < rank && seats[other].cpus == seat.cpus) first_of_its_set = false;
    }
    if (first_of_its_set && sharers > seat.cpus.count())
      lines += fmt::format("# {} ranks share {} of {}: results suffer; bind each rank to a core of its own\n", sharers,
                           cpus_text(seat.cpus), seat.host.data());
  }
  return lines;
}

std::string pinning_text(const std::vector<Seat>& seats) {
  constexpr std::size_t most_listed = 8;
  std::string text;
  for (std::size_t rank = 0; rank < std::min(most_listed, seats.size()); ++rank)
    text += fmt::format("{}rank {}: {}", rank == 0 ? "" : "; ", rank, cpus_text(seats[rank].cpus));
  if (seats.size() > most_listed) text += fmt::format("; and {} more ranks", seats.size() - most_listed);
  return text;
}

}  // namespace godwit::apps
