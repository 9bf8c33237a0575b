// Collectives with a v: their algorithms proven for blocks of any lengths, anywhere.
#include "algorithm_lists.hpp"
#include "collectives/verifier.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace godwit::collectives {
namespace {

class Uneven : public testing::TestWithParam<const Algorithm*> {
 protected:
  using Random = std::mt19937;

  /// Blocks of these lengths in any order, with gaps.
  static BlockTable spread(std::vector<std::uint64_t> counts, Random& random) {
    BlockTable table{std::move(counts), {}};
    table.offsets.resize(table.counts.size());
    std::vector<std::size_t> order(table.counts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::shuffle(order, random);
    std::uint64_t end = 0;
    for (const std::size_t i : order) {
      table.offsets[i] = end + random() % 3;
      end = table.offsets[i] + table.counts[i];
    }
    return table;
  }

  /// lengths[from][to] of an alltoallv; the others use its first row.
  static std::vector<std::vector<std::uint64_t>> lengths(int size, Random& random) {
    std::vector<std::vector<std::uint64_t>> rows(static_cast<std::size_t>(size));
    for (auto& row : rows)
      for (int to = 0; to < size; ++to) row.push_back(random() % 3 == 0 ? 0 : random() % 40);
    return rows;
  }

  /// Only what each rank must know.
  void prove(int size, bool in_place, Random& random) {
    const Collective kind = without_v(GetParam()->collective);
    const auto rows = lengths(size, random);
    const auto n = static_cast<std::size_t>(size);
    std::vector<BlockTable> sends(n), receives(n);
    std::vector<Problem> problems;
    std::vector<Schedule> schedules;
    for (Rank rank = 0; rank < size; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      Problem p{.collective = GetParam()->collective, .size = size, .type = DataType::float32, .in_place = in_place};
      p.chunk_bytes = 16 * p.element_size();
      p.root = p.rooted() ? size / 2 : 0;
      p.count = kind == Collective::alltoall ? 0 : rows[0][r];
      const bool everywhere = kind == Collective::alltoall, is_root = rank == p.root;
      if (everywhere || kind == Collective::reduce_scatter || (kind == Collective::scatter && is_root)) {
        // Elements are known by their position: those that are reduced must have the same one everywhere.
        sends[r] = kind == Collective::reduce_scatter && r > 0 ? sends[0] : spread(rows[everywhere ? r : 0], random);
        p.sends = {&sends[r]};
      }
      if (everywhere || kind == Collective::allgather || (kind == Collective::gather && is_root)) {
        std::vector<std::uint64_t> column = rows[0];
        if (everywhere)
          for (std::size_t from = 0; from < n; ++from) column[from] = rows[from][r];
        receives[r] = spread(column, random);
        p.receives = {&receives[r]};
      }
      problems.push_back(p);
    }
    for (Rank rank = 0; rank < size; ++rank)
      schedules.push_back(build(*GetParam(), problems[static_cast<std::size_t>(rank)], rank));
    EXPECT_EQ(verify(problems, std::move(schedules), static_cast<std::uint32_t>(random())), "")
        << to_string(problems[0]);
  }
};

TEST_P(Uneven, AreRightForBlocksOfAnyLengths) {
  Random random(23);
  for (int size = 1; size <= 17; ++size)
    for (int again = 0; again < 5; ++again) prove(size, false, random);
  for (int size : {33, 64}) prove(size, false, random);
}

TEST_P(Uneven, AreRightInPlace) {
  if (GetParam()->collective == Collective::alltoallv) GTEST_SKIP() << "never in place";
  Random random(29);
  for (int size = 1; size <= 17; ++size)
    for (int again = 0; again < 5; ++again) prove(size, true, random);
}

INSTANTIATE_TEST_SUITE_P(All, Uneven, testing::ValuesIn(uneven_algorithms()), [](const auto& test) {
  return std::string(to_string(test.param->collective)) + "_" + std::string(test.param->name);
});

}  // namespace
}  // namespace godwit::collectives
