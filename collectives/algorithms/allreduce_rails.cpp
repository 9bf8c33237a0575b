// Two levels for long vectors, rail by rail: the i-th ranks of all nodes (a rail) own part i of the vector.
// Reduce-scatter in the node, allreduce along each rail, allgather in the node: all adapters of a node work, and each
// byte crosses the network about twice. H. Mikami et al.: "Massively distributed SGD: ImageNet/ResNet-50 training in a
// flash" (2D torus allreduce), arXiv:1811.05233 (2018). There are as many rails as the smallest node has ranks; the
// other ranks of larger nodes give and take in the node only.
// Association: in the node from the owner on, then as circulant_reduce_scatter; one rank reduces each element, so all
// get the same bits.
// Cost (N nodes of k ranks): 2 rounds and 2 (k - 1) / k vectors in the node; 2 ceil(log2 N) rounds and 2 (N - 1) / (N
// k) vectors between nodes; (k - 1) / k + (N - 1) / (N k) vectors reduced.
#include "collectives/algorithm.hpp"
#include "collectives/circulant.hpp"
#include "collectives/nodes.hpp"

namespace godwit::collectives {
namespace {

void exchange_parts(ScheduleBuilder& b, const Team& node, int rails) {
  for (int distance = 1; distance < node.size(); ++distance) {
    const int to = (node.me + distance) % node.size();
    const Range theirs = part(b.count(), rails, to < rails ? to : 0);
    if (to < rails) b.send_chunks(node[to], b.input(theirs.begin), theirs.size());
  }
}

/// Returns where the node's sum of my part is.
Place reduce_part(ScheduleBuilder& b, const Team& node, Range mine) {
  Place current = b.input();
  for (int distance = 1; distance < node.size(); ++distance) {
    const int from = (node.me + node.size() - distance) % node.size();
    b.recv_reduce(node[from], current + mine.begin, b.output(mine.begin), mine.size(), Order::mine_first);
    current = b.output();
  }
  return current;
}

void allreduce_along(ScheduleBuilder& b, const Team& rail, Place current, Range mine) {
  const Blocks blocks = [&](int j) {
    const Range r = part(mine.size(), rail.size(), j);
    return Range{mine.begin + r.begin, mine.begin + r.end};
  };
  const Range last = blocks(rail.me);
  circulant_reduce_scatter(b, rail, current, b.output(), b.output(last.begin), blocks);
  b.finish(b.output(last.begin), last.size());
  circulant_allgather(b, rail, b.output(), blocks);
}

void build_rails(ScheduleBuilder& b) {
  const Nodes nodes(b);
  const Team node = nodes.node();
  const int rails = nodes.rails();
  const bool owner = node.me < rails;
  const Range mine = owner ? part(b.count(), rails, node.me) : Range{};
  exchange_parts(b, node, rails);
  if (owner) allreduce_along(b, nodes.rail(node.me), reduce_part(b, node, mine), mine);
  for (int distance = 1; distance < node.size(); ++distance) {
    const int to = (node.me + distance) % node.size(), from = (node.me + node.size() - distance) % node.size();
    if (owner) b.send_chunks(node[to], b.output(mine.begin), mine.size());
    if (from >= rails) continue;
    const Range theirs = part(b.count(), rails, from);
    b.recv_chunks(node[from], b.output(theirs.begin), theirs.size());
  }
}

Cost cost_rails(const Problem& problem) noexcept {
  const Terms t(problem);
  const NodeTerms n(problem);
  const double inside = 2 * n.local_share * t.bytes, between = 2 * n.node_share * t.bytes / n.local;
  return {.rounds = 2 + 2 * n.node_rounds,
          .bytes = inside + between,
          .messages = 2 * (n.local - 1) * pieces(problem, t.bytes / n.local) +
                      2 * n.node_rounds * pieces(problem, between / 2 / std::max(1.0, n.node_rounds)),
          .reduced = (inside + between) / 2,
          .near_rounds = 2,
          .near_bytes = inside,
          .sharing = n.local};
}

}  // namespace

extern const Algorithm allreduce_rails{"rails",    "",         Collective::allreduce, two_levels_commutative,
                                       cost_rails, build_rails};

}  // namespace godwit::collectives
