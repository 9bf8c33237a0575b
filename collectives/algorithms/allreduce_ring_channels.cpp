// Ring on several channels: the vector in as many parts, each around a ring of its own. On one node every other ring
// goes the other way around, so that links carry both directions; on several nodes ring c enters and leaves each node
// at other ranks, so that the adapters near those share the load. Patarasuk, Yuan 2009 for the ring; channels as in
// NCCL.
// Association: see Ring; one rank reduces each element, so all get the same bits.
// Cost: as one ring, with as many times the messages; the rings cross the network side by side.
#include "collectives/algorithm.hpp"
#include "collectives/phases.hpp"

#include <algorithm>

namespace godwit::collectives {
namespace {

constexpr int most_channels = 4;

int channels(const Problem& problem) noexcept {
  return std::clamp(problem.shape.nodes > 1 ? problem.shape.ranks_per_node : 2, 1, most_channels);
}

bool if_channels(const Problem& problem) noexcept {
  return problem.commutative && problem.size > 1 && channels(problem) > 1;
}

/// All ranks, node by node; ring `channel` begins with another rank of each node.
Team order_of(const ScheduleBuilder& b, const Nodes& nodes, int channel) {
  Team team;
  for (int node = 0; node < nodes.count(); ++node) {
    std::vector<Rank> ranks = nodes.ranks(node);
    std::rotate(ranks.begin(), ranks.begin() + channel % static_cast<int>(ranks.size()), ranks.end());
    team.ranks.insert(team.ranks.end(), ranks.begin(), ranks.end());
  }
  if (nodes.count() == 1 && channel % 2 == 1) std::ranges::reverse(team.ranks);
  team.me = static_cast<int>(std::ranges::find(team.ranks, b.rank()) - team.ranks.begin());
  return team;
}

struct Channel {
  Ring ring;
  Range mine;  // the block that this rank reduces
};

std::vector<Channel> make_channels(ScheduleBuilder& b) {
  const Nodes nodes(b);
  std::vector<Channel> all;
  const int count = channels(b.problem());
  for (int c = 0; c < count; ++c) {
    Team team = order_of(b, nodes, c);
    const Blocks blocks = [of_channel = part(b.count(), count, c), size = b.size()](int j) {
      const Range r = part(of_channel.size(), size, j);
      return Range{of_channel.begin + r.begin, of_channel.begin + r.end};
    };
    const Range mine = blocks(team.me);
    all.push_back({Ring(std::move(team), blocks), mine});
    all.back().ring.prepare(b);
  }
  return all;
}

// Step by step, all channels in each: messages to one peer are sent in the order in which they are stated.
void build_ring_channels(ScheduleBuilder& b) {
  const std::vector<Channel> all = make_channels(b);
  for (int step = 0; step < b.size() - 1; ++step)
    for (const Channel& c : all) c.ring.reduce_scatter(b, step, b.input(), b.output(c.mine.begin));
  for (const Channel& c : all) b.finish(b.output(c.mine.begin), c.mine.size());
  for (int step = 0; step < b.size() - 1; ++step)
    for (const Channel& c : all) c.ring.allgather(b, step, b.output());
}

Cost cost_ring_channels(const Problem& problem) noexcept {
  const Terms t(problem);
  const double rings = channels(problem);
  return {.rounds = 2 * t.others,
          .bytes = 2 * t.share * t.bytes,
          .messages = 2 * t.others * rings * pieces(problem, t.block / rings),
          .reduced = t.share * t.bytes};
}

}  // namespace

extern const Algorithm allreduce_ring_channels{
    "ring_channels", "ring", Collective::allreduce, if_channels, cost_ring_channels, build_ring_channels, true};

}  // namespace godwit::collectives
