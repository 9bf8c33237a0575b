// Pipelined chain reduction: every rank receives the partial result of the next one in chunks, adds its own, and passes
// it on to the one before; the broadcast of broadcast_chain backwards. Watts, van de Geijn 1995.
// Association: x[root] op (x[root + 1] op (x[root + 2] ...)), in the order of ranks for root 0.
// Cost: n - 1 rounds until the root has the first chunk; the vector and n - 2 chunks go one after the other, one vector
// is reduced.
#include "collectives/algorithm.hpp"
#include "collectives/trees.hpp"

#include <algorithm>

namespace godwit::collectives {
namespace {

constexpr std::uint64_t turns = 4;  // chunks that wait for their onward journey

bool keeps_order(const Problem& problem) noexcept { return problem.commutative || problem.root == 0; }

void build_chain(ScheduleBuilder& b) {
  const Rank root = b.problem().root;
  const TreeNode node = chain_node(everybody(b), root);
  const bool inner = node.parent >= 0 && !node.children.empty();
  const Place aside = inner ? b.scratch(turns * std::min(b.problem().chunk(), b.count())) : Place{};
  std::uint64_t turn = 0;
  for_each_chunk(b.problem(), b.count(), [&](std::uint64_t offset, std::uint64_t count) {
    const Place slot = aside + turn++ % turns * std::min(b.problem().chunk(), b.count());
    Place current = b.input(offset);
    if (!node.children.empty()) {
      const Place target = inner ? slot : b.output(offset);
      b.recv_reduce(node.children[0], current, target, count, Order::mine_first);
      current = target;
    }
    if (node.parent >= 0)
      b.send(node.parent, current, count);
    else
      b.copy(current, b.output(offset), count);  // nothing, unless this is the only rank
  });
  if (b.rank() == root) b.finish(b.output(), b.count());
}

}  // namespace

extern const Algorithm reduce_chain{"chain",     "ring", Collective::reduce, keeps_order, cost_of_reducing_chain,
                                    build_chain, true};

}  // namespace godwit::collectives
