#include "collectives/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

namespace godwit::collectives {

std::uint64_t Problem::chunk() const noexcept { return std::max<std::uint64_t>(1, chunk_bytes / element_size()); }

std::uint64_t BlockTable::end() const noexcept {
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] != 0) end = std::max(end, offsets[i] + counts[i]);
  return end;
}

std::uint64_t BlockTable::total() const noexcept {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

Range Problem::block(const BlockTable* table, int rank) const noexcept {
  if (table != nullptr) return table->block(rank);
  const std::uint64_t begin = static_cast<std::uint64_t>(rank) * count;
  return {begin, begin + count};
}

std::uint64_t Problem::input_count(Rank rank) const noexcept {
  const std::uint64_t all = sends ? sends->end() : static_cast<std::uint64_t>(size) * count;
  switch (without_v(collective)) {
    case Collective::barrier: return 0;
    case Collective::broadcast: return rank == root ? count : 0;
    case Collective::scatter: return rank == root ? all : 0;
    case Collective::reduce_scatter:
    case Collective::alltoall: return all;
    case Collective::allgather: return output_block(rank).size();
    default: return count;
  }
}

std::uint64_t Problem::output_count(Rank rank) const noexcept {
  const std::uint64_t all = receives ? receives->end() : static_cast<std::uint64_t>(size) * count;
  switch (without_v(collective)) {
    case Collective::barrier: return 0;
    case Collective::reduce: return rank == root ? count : 0;
    case Collective::gather: return rank == root ? all : 0;
    case Collective::exscan: return rank == 0 ? 0 : count;
    case Collective::allgather:
    case Collective::alltoall: return all;
    case Collective::reduce_scatter: return input_block(rank).size();
    default: return count;
  }
}

std::uint64_t Problem::vector_count() const noexcept {
  if (sends || receives) return std::max(sends ? sends->total() : 0, receives ? receives->total() : 0);
  return std::max(input_count(root), output_count(root));
}

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
