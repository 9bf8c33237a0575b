// Binomial scatter: the root sends whole subtrees, inner nodes pass on their parts. Textbook; Thakur, Rabenseifner,
// Gropp 2005.
// Cost: ceil(log2 n) rounds; n - 1 blocks out of the root, at most n / 2 through an inner node.
#include <boost/range/adaptor/reversed.hpp>

#include "collectives/algorithm.hpp"
#include "collectives/phases.hpp"

namespace godwit::collectives {
namespace {

void build_binomial(ScheduleBuilder& b) {
  const Rank root = b.problem().root;
  const int n = b.size(), me = relative(b, root);
  const BinomialNode node = binomial_node(me, n);
  const bool leaf = node.span == 1 && me != 0;
  const Place subtree = leaf ? b.output() : me == 0 ? Place{} : b.scratch(b.blocks(node.span));
  const auto place_of = [&](int relative_rank) {
    return me == 0 ? b.input(b.blocks(absolute(b, relative_rank, root))) : subtree + b.blocks(relative_rank - me);
  };
  if (node.parent >= 0)
    for_each_run(b, root, me, node.span,
                 [&](int first, int span) { b.recv(absolute(b, node.parent, root), place_of(first), b.blocks(span)); });
  for (const int child : node.children | boost::adaptors::reversed)
    for_each_run(b, root, child, binomial_node(child, n).span,
                 [&](int first, int span) { b.send(absolute(b, child, root), place_of(first), b.blocks(span)); });
  if (!leaf) b.copy(place_of(me), b.output(), b.count());
}

Cost cost_binomial(const Problem& problem) noexcept {
  const Terms t(problem);
  return {.rounds = t.rounds, .bytes = t.others * t.block, .messages = t.rounds, .copied = t.n > 2 ? t.block : 0};
}

}  // namespace

extern const Algorithm scatter_binomial{"binomial", "tree", Collective::scatter, always, cost_binomial, build_binomial};

}  // namespace godwit::collectives
