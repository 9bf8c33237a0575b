#include "collectives/rail_order.hpp"

namespace godwit::collectives {

RailOrder::RailOrder(const ScheduleBuilder& b) : nodes_(b) {
  for (int rail = 0; rail < rails(); ++rail)
    for (int node = 0; node < nodes_.count(); ++node) {
      begins_.push_back(order_.size());
      const std::vector<Rank>& ranks = nodes_.ranks(node);
      for (auto local = static_cast<std::size_t>(rail); local < ranks.size();
           local += static_cast<std::size_t>(rails()))
        order_.push_back(ranks[local]);
    }
  begins_.push_back(order_.size());
}

Blocks RailOrder::blocks(int rail, std::uint64_t count) const {
  return [this, rail, count](int node) {
    const Range positions = of_node(rail, node);
    return Range{positions.begin * count, positions.end * count};
  };
}

Cost cost_of_rails(const Problem& problem) noexcept {
  const Terms t(problem);
  const NodeTerms n(problem);
  const double between = (n.nodes - 1) * t.block, inside = (n.local - 1) * n.nodes * t.block;
  return {.rounds = 1 + n.node_rounds,
          .bytes = between + inside,
          .messages = (n.local - 1) * pieces(problem, n.nodes * t.block) +
                      n.node_rounds * pieces(problem, between / n.node_rounds),
          .copied = t.bytes,
          .near_rounds = 1,
          .near_bytes = inside,
          .sharing = n.local};
}

}  // namespace godwit::collectives
