// Large broadcast as binomial scatter and ring allgather. M. Barnett, S. Gupta, D. Payne, L. Shuler, R. van de Geijn,
// J. Watts: "Interprocessor collective communication library (InterCom)", SHPCC 1994. Blocks that the scatter has
// already left with a rank are not sent to it again.
// Cost: ceil(log2 n) + n - 1 rounds; a rank sends at most 2 (n - 1) / n of the vector.
#include <boost/range/adaptor/reversed.hpp>

#include "collectives/algorithm.hpp"
#include "collectives/phases.hpp"

namespace godwit::collectives {
namespace {

// Blocks are numbered by relative rank, so that subtrees are contiguous.
void scatter(ScheduleBuilder& b, const BinomialNode& node, int me, const Blocks& blocks) {
  const Rank root = b.problem().root;
  const auto range = [&](int first, int span) { return Range{blocks(first).begin, blocks(first + span - 1).end}; };
  if (node.parent >= 0) {
    const Range mine = range(me, node.span);
    b.recv_chunks(absolute(b, node.parent, root), b.output(mine.begin), mine.size());
  }
  for (const int child : node.children | boost::adaptors::reversed) {
    const Range theirs = range(child, binomial_node(child, b.size()).span);
    b.send_chunks(absolute(b, child, root), b.output(theirs.begin), theirs.size());
  }
}

void build_scatter_allgather(ScheduleBuilder& b) {
  const Rank root = b.problem().root;
  const int n = b.size(), me = relative(b, root), next = (me + 1) % n;
  const Blocks blocks = equal_parts(b);
  const BinomialNode node = binomial_node(me, n);
  const int next_span = binomial_node(next, n).span;
  if (me == 0) b.copy(b.input(), b.output(), b.count());
  scatter(b, node, me, blocks);
  const auto has = [](int block, int rank, int span) { return block >= rank && block < rank + span; };
  for (int step = 0; step < n - 1; ++step) {
    const int out = (me - step + n) % n, in = (me - step - 1 + n) % n;
    if (!has(out, next, next_span))
      b.send_chunks(absolute(b, next, root), b.output(blocks(out).begin), blocks(out).size());
    if (!has(in, me, node.span))
      b.recv_chunks(absolute(b, (me + n - 1) % n, root), b.output(blocks(in).begin), blocks(in).size());
  }
}

Cost cost_scatter_allgather(const Problem& problem) noexcept {
  const Terms t(problem);
  return {.rounds = t.rounds + t.others,
          .bytes = 2 * t.share * t.bytes,
          .messages = t.share + t.others * pieces(problem, t.block)};
}

}  // namespace

extern const Algorithm broadcast_scatter_allgather{
    "scatter_allgather", "", Collective::broadcast, always, cost_scatter_allgather, build_scatter_allgather};

}  // namespace godwit::collectives
