// Two levels: the ranks of a node report to one of them along a binomial tree, these do a dissemination barrier, and
// release their nodes. Hensgen, Finkel, Manber 1988 for the dissemination; two levels as in Kielmann et al. 1999.
// Cost (N nodes of k ranks): 2 ceil(log2 k) rounds in the node, ceil(log2 N) between nodes; 2 (k - 1) / k empty
// messages per rank in the node, and ceil(log2 N) of one rank of each.
#include "collectives/algorithm.hpp"
#include "collectives/trees.hpp"

#include <boost/range/adaptor/reversed.hpp>

namespace godwit::collectives {
namespace {

/// What this rank has heard goes on with whatever it sends next.
class Signals {
 public:
  explicit Signals(ScheduleBuilder& b) : b_(b) {}
  void send(Rank to) {
    sent_ = any_ ? b_.send(to, b_.output(), 0, {sent_, heard_}) : b_.send(to, b_.output(), 0);
    if (!any_) heard_ = sent_;
    any_ = true;
  }
  /// After what was heard before if `in_turn`; who waits for that before it listens may be waited for.
  void recv(Rank from, bool in_turn) {
    heard_ = any_ && in_turn ? b_.recv(from, b_.output(), 0, {sent_, heard_}) : b_.recv(from, b_.output(), 0);
    if (!any_) sent_ = heard_;
    any_ = true;
  }

 private:
  ScheduleBuilder& b_;
  StepIndex sent_ = 0, heard_ = 0;
  bool any_ = false;
};

void build_hierarchical(ScheduleBuilder& b) {
  const Nodes nodes(b);
  const TreeNode tree = knomial_node(nodes.node(), 0, 2);
  Signals signals(b);
  for (const Rank child : tree.children) signals.recv(child, true);
  if (tree.parent >= 0) {
    signals.send(tree.parent);
    signals.recv(tree.parent, false);
  }
  if (const Team leaders = nodes.leaders(); leaders.has_me())
    for (int distance = 1; distance < leaders.size(); distance *= 2) {
      signals.send(leaders[(leaders.me + distance) % leaders.size()]);
      signals.recv(leaders[(leaders.me + leaders.size() - distance) % leaders.size()], false);
    }
  for (const Rank child : tree.children | boost::adaptors::reversed) signals.send(child);
}

Cost cost_hierarchical(const Problem& problem) noexcept {
  const NodeTerms n(problem);
  return {.rounds = 2 * n.local_rounds + n.node_rounds,
          .messages = 2 * n.local_share + n.node_rounds / n.local,
          .near_rounds = 2 * n.local_rounds};
}

}  // namespace

extern const Algorithm barrier_hierarchical{"hierarchical",    "", Collective::barrier, two_levels, cost_hierarchical,
                                            build_hierarchical};

}  // namespace godwit::collectives
