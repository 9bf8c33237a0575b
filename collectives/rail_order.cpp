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

}  // namespace godwit::collectives
