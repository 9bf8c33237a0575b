#include "collectives/nodes.hpp"

#include <algorithm>
#include <numeric>

namespace godwit::collectives {

namespace {

int node_in(const NodeShape& shape, Rank rank) noexcept {
  if (shape.node_of != nullptr) return (*shape.node_of)[static_cast<std::size_t>(rank)];
  return rank / std::max(1, shape.ranks_per_node);
}

int index_in(const std::vector<Rank>& ranks, Rank rank) noexcept {
  return static_cast<int>(std::ranges::find(ranks, rank) - ranks.begin());
}

}  // namespace

Team everybody(const ScheduleBuilder& b) {
  Team team{std::vector<Rank>(static_cast<std::size_t>(b.size())), b.rank()};
  std::iota(team.ranks.begin(), team.ranks.end(), 0);
  return team;
}

Nodes::Nodes(const ScheduleBuilder& b) : shape_(b.problem().shape), mine_(node_of(b.rank())) {
  for (Rank rank = 0; rank < b.size(); ++rank) {
    const auto node = static_cast<std::size_t>(node_of(rank));
    if (node >= ranks_.size()) ranks_.resize(node + 1);
    ranks_[node].push_back(rank);
  }
  rails_ = b.size();
  for (const auto& ranks : ranks_) rails_ = std::min(rails_, static_cast<int>(ranks.size()));
  local_ = index_in(ranks(mine_), b.rank());
}

int Nodes::node_of(Rank rank) const noexcept { return node_in(shape_, rank); }

Team Nodes::node() const { return {ranks(mine_), local_}; }

Team Nodes::rail(int index) const {
  Team team;
  for (int node = 0; node < count(); ++node) team.ranks.push_back(ranks(node)[static_cast<std::size_t>(index)]);
  if (local_ == index) team.me = mine_;
  return team;
}

Team Nodes::leaders(Rank root) const {
  Team team = rail(0);
  team.ranks[static_cast<std::size_t>(node_of(root))] = root;
  team.me = ranks(mine_)[static_cast<std::size_t>(local_)] == team[mine_] ? mine_ : -1;
  return team;
}

int Nodes::local_root(Rank root) const { return node_of(root) == mine_ ? index_in(ranks(mine_), root) : 0; }

bool two_levels(const Problem& problem) noexcept {
  return problem.shape.nodes > 1 && problem.shape.ranks_per_node > 1 && problem.size > problem.shape.ranks_per_node;
}

bool two_levels_commutative(const Problem& problem) noexcept { return two_levels(problem) && problem.commutative; }

NodeTerms::NodeTerms(const Problem& problem) noexcept
    : nodes(problem.shape.nodes),
      local(problem.shape.ranks_per_node),
      node_rounds(log2_ceil(problem.shape.nodes)),
      local_rounds(log2_ceil(problem.shape.ranks_per_node)),
      node_share((nodes - 1) / nodes),
      local_share((local - 1) / local),
      node_fold(problem.shape.nodes == power_of_two_below(problem.shape.nodes) ? 0 : 1) {}

}  // namespace godwit::collectives
