#include "collectives/pat.hpp"

#include <algorithm>
#include <bit>

namespace godwit::collectives {

Pat::Pat(const Problem& problem) noexcept : size(problem.size) {
  const std::uint64_t whole = std::uint64_t{1} << log2_ceil(size);
  const std::uint64_t blocks = std::max<std::uint64_t>(1, problem.chunk() / std::max<std::uint64_t>(1, problem.count));
  trunks = static_cast<int>(std::min(whole, std::bit_floor(blocks)));
  height = static_cast<int>(whole) / trunks;
  levels = log2_ceil(height);
  roots = (size + height - 1) / height;
}

std::vector<int> Pat::children_at(int bit) const {
  std::vector<int> found;
  for (int trunk = bit; trunk < roots; trunk += 2 * bit) found.push_back(trunk);
  return found;
}

Cost Pat::cost(const Problem& problem) const noexcept {
  const Terms t(problem);
  const double steps = std::min(height, size) - 1 + log2_ceil(roots);
  Cost cost{.rounds = steps,
            .bytes = t.others * t.block,
            .messages = steps * pieces(problem, trunks == 1 ? t.block : 0),
            .copied = t.others * t.block};
  if (problem.shape.nodes <= 1) return cost;
  // A hop over d ranks leaves a node of k with probability d / k; half of the blocks hop over 1, a quarter over 2, ...
  const double local = problem.shape.ranks_per_node, near = log2_ceil(problem.shape.ranks_per_node);
  cost.near_bytes = cost.bytes * std::max(0.0, 1 - (1 + near / 2) / local);
  cost.near_rounds = cost.rounds * (1 - std::min(1.0, t.rounds - near > 0 ? (t.rounds - near) / t.rounds : 0.0));
  cost.sharing = local;
  return cost;
}

}  // namespace godwit::collectives
