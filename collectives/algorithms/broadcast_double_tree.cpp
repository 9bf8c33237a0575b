// Double binary tree broadcast, pipelined: each half of the vector goes down a tree of its own, no rank is an inner
// node of both. P. Sanders, J. Speck, J. L. Traeff: "Two-tree algorithms for full bandwidth broadcast, reduction and
// scan", Parallel Computing 35 (2009).
// Cost: d = floor(log2(n - 1)) + 1 rounds until the last rank has the first pieces; the vector, and two pieces per
// further round, go one after the other.
#include "collectives/algorithm.hpp"
#include "collectives/trees.hpp"

#include <algorithm>

namespace godwit::collectives {
namespace {

void build_double_tree(ScheduleBuilder& b) {
  const Rank root = b.problem().root;
  const DoubleTree trees(b, root);
  if (b.rank() == root) b.copy(b.input(), b.output(), b.count());
  DoubleTree::Piece piece;
  for (int number = 0; number < trees.pieces(); ++number)
    for (int tree = 0; tree < 2; ++tree)
      if (trees.piece(number, tree, piece)) trees.broadcast(b, piece, b.output(piece.elements.begin));
}

}  // namespace

extern const Algorithm broadcast_double_tree{
    "double_tree", "tree", Collective::broadcast, always, DoubleTree::cost_one_way, build_double_tree, true};

}  // namespace godwit::collectives
