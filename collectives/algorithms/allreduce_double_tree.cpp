// Double binary tree: each half of the vector is reduced up a tree of its own to rank 0 and broadcast down the same
// tree, pipelined; no rank is an inner node of both. Sanders, Speck, Traeff 2009. The bytes of a ring in the rounds of
// a tree.
// Association: each inner node op its two subtrees, in trees that do not keep the order of ranks.
// Cost (d as in broadcast_double_tree): 2 d rounds; two vectors, and two pieces per further hop, sent one after the
// other; one vector reduced.
#include "collectives/algorithm.hpp"
#include "collectives/trees.hpp"

namespace godwit::collectives {
namespace {

void build_double_tree(ScheduleBuilder& b) {
  const DoubleTree trees(b, 0);
  // A piece comes back about two depths after it has left. Stated so, no send waits in line behind later ones.
  const int lag = 2 * DoubleTree::depth(b.size());
  DoubleTree::Piece piece;
  for (int number = 0; number < trees.pieces() + lag; ++number)
    for (int tree = 0; tree < 2; ++tree) {
      if (number < trees.pieces() && trees.piece(number, tree, piece)) {
        const Place place = b.output(piece.elements.begin);
        trees.reduce(b, piece, place);
        if (b.rank() == 0) b.finish(place, piece.elements.size());
      }
      if (number >= lag && trees.piece(number - lag, tree, piece))
        trees.broadcast(b, piece, b.output(piece.elements.begin));
    }
}

Cost cost_double_tree(const Problem& problem) noexcept {
  const Cost one_way = DoubleTree::cost_one_way(problem);
  if (problem.size == 1) return {};
  return {.rounds = 2 * one_way.rounds,
          .bytes = 2 * one_way.bytes,
          .messages = 2 * one_way.messages,
          .reduced = Terms(problem).bytes};
}

}  // namespace

extern const Algorithm allreduce_double_tree{
    "double_tree", "tree", Collective::allreduce, if_commutative, cost_double_tree, build_double_tree, true};

}  // namespace godwit::collectives
