// Where each rank runs: host, process, CPUs. For headings, memory budgets and the report. Pure but own_cpus().
#pragma once

#include <godwit/types.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace godwit::apps {

/// CPUs that a process may run on. A plain value, to be sent.
struct CpuSet {
  static constexpr std::size_t most = 8192;  // as many as a Linux kernel can have
  std::array<std::uint64_t, most / 64> words{};

  void add(std::size_t cpu) { words[cpu / 64] |= std::uint64_t{1} << cpu % 64; }
  bool has(std::size_t cpu) const { return (words[cpu / 64] >> cpu % 64 & 1) != 0; }
  std::size_t count() const noexcept;
  bool is_part_of(const CpuSet& other) const noexcept;
  friend bool operator==(const CpuSet&, const CpuSet&) = default;
};

/// Of this process. Throws std::runtime_error if the kernel does not tell.
CpuSet own_cpus();
/// "cpu 0", "cpus 0-3,8".
std::string cpus_text(const CpuSet& cpus);

/// One rank. Ranks with equal `boot` run on one kernel and share its memory.
struct Seat {
  std::uint64_t boot = 0;
  std::int64_t pid = 0;
  std::array<char, 64> host{};
  CpuSet cpus{};
};

/// Ranks on the same kernel as `rank`, itself included.
std::size_t ranks_beside(const std::vector<Seat>& seats, Rank rank);
/// The first rank of each host.
std::vector<Rank> first_of_each_host(const std::vector<Seat>& seats);
/// "# rank   0  pid   4711  host node0  cpu 0", one line per rank.
std::string seat_lines(const std::vector<Seat>& seats);
/// Where more of the first `ranks` ranks are bound to some CPUs than there are, "# 2 ranks share cpu 0 ..." for each
/// such set of CPUs; else nothing.
std::string sharing_lines(const std::vector<Seat>& seats, std::size_t ranks);
/// "rank 0: cpu 0; rank 1: cpu 1", or how many there are on which CPUs if they are many.
std::string pinning_text(const std::vector<Seat>& seats);

}  // namespace godwit::apps
