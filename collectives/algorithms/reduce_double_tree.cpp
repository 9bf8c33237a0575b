// Double binary tree reduction, pipelined: the broadcast of broadcast_double_tree backwards. Sanders, Speck, Traeff
// 2009.
// Association: each inner node op its two subtrees, in trees that do not keep the order of ranks.
// Cost: as broadcast_double_tree, and the vector reduced.
#include "collectives/algorithm.hpp"
#include "collectives/trees.hpp"

#include <algorithm>

namespace godwit::collectives {
namespace {

constexpr int turns = 4;  // pieces that wait for their onward journey, of each tree

void build_double_tree(ScheduleBuilder& b) {
  const Rank root = b.problem().root;
  const DoubleTree trees(b, root);
  const std::uint64_t chunk = DoubleTree::chunk(b.problem());
  const int waiting = std::min(turns, trees.pieces());
  const Place aside = b.rank() == root ? Place{} : b.scratch(2 * static_cast<std::uint64_t>(waiting) * chunk);
  DoubleTree::Piece piece;
  for (int number = 0; number < trees.pieces(); ++number)
    for (int tree = 0; tree < 2; ++tree) {
      if (!trees.piece(number, tree, piece)) continue;
      const auto turn = static_cast<std::uint64_t>(tree * waiting + number % waiting);
      const Place result = b.output(piece.elements.begin);
      trees.reduce(b, piece, b.rank() == root ? result : aside + turn * chunk);
      if (b.rank() == root) b.finish(result, piece.elements.size());
    }
}

Cost cost_double_tree(const Problem& problem) noexcept {
  Cost cost = DoubleTree::cost_one_way(problem);
  if (problem.size > 1) cost.reduced = Terms(problem).bytes;
  return cost;
}

}  // namespace

extern const Algorithm reduce_double_tree{
    "double_tree", "tree", Collective::reduce, if_commutative, cost_double_tree, build_double_tree, true};

}  // namespace godwit::collectives
