#include "collectives/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace godwit::collectives {

std::uint64_t Problem::chunk() const noexcept { return std::max<std::uint64_t>(1, chunk_bytes / element_size()); }

bool Problem::reduces() const noexcept {
  return collective == Collective::reduce || collective == Collective::allreduce ||
         collective == Collective::reduce_scatter || collective == Collective::scan || collective == Collective::exscan;
}

bool Problem::rooted() const noexcept {
  return collective == Collective::broadcast || collective == Collective::reduce || collective == Collective::gather ||
         collective == Collective::scatter;
}

std::uint64_t Problem::input_count(Rank rank) const noexcept {
  const auto n = static_cast<std::uint64_t>(size);
  switch (collective) {
    case Collective::barrier: return 0;
    case Collective::broadcast: return rank == root ? count : 0;
    case Collective::scatter: return rank == root ? n * count : 0;
    case Collective::reduce_scatter:
    case Collective::alltoall: return n * count;
    case Collective::reduce:
    case Collective::allreduce:
    case Collective::scan:
    case Collective::exscan:
    case Collective::allgather:
    case Collective::gather: return count;
  }
  return 0;
}

std::uint64_t Problem::output_count(Rank rank) const noexcept {
  const auto n = static_cast<std::uint64_t>(size);
  switch (collective) {
    case Collective::barrier: return 0;
    case Collective::reduce: return rank == root ? count : 0;
    case Collective::gather: return rank == root ? n * count : 0;
    case Collective::exscan: return rank == 0 ? 0 : count;
    case Collective::allgather:
    case Collective::alltoall: return n * count;
    case Collective::broadcast:
    case Collective::allreduce:
    case Collective::scan:
    case Collective::reduce_scatter:
    case Collective::scatter: return count;
  }
  return 0;
}

std::uint64_t Problem::vector_count() const noexcept { return std::max(input_count(root), output_count(root)); }

Range part(std::uint64_t count, int parts, int index) noexcept {
  const auto n = static_cast<std::uint64_t>(parts);
  const auto i = static_cast<std::uint64_t>(index);
  const auto begin = [&](std::uint64_t k) { return k * (count / n) + std::min(k, count % n); };
  return {begin(i), begin(i + 1)};
}

int log2_ceil(int n) noexcept { return n <= 1 ? 0 : std::bit_width(static_cast<unsigned>(n - 1)); }

int power_of_two_below(int n) noexcept { return static_cast<int>(std::bit_floor(static_cast<unsigned>(n))); }

std::string to_string(const Problem& problem) {
  std::string text =
      fmt::format("{} of {} {}", godwit::to_string(problem.collective), problem.count, godwit::to_string(problem.type));
  if (problem.reduces()) text += fmt::format(" ({})", godwit::to_string(problem.op));
  if (problem.rooted()) text += fmt::format(" root {}", problem.root);
  return text + fmt::format(" on {} ranks{}", problem.size, problem.in_place ? " in place" : "");
}

}  // namespace godwit::collectives
