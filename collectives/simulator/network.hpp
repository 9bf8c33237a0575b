// Network: a cluster's resources, and which of them a message takes on its way. Pure.
//
// A resource is what messages compete for, with a capacity: a rank's port (each direction), an adapter, the way up from
// a leaf switch, the memory of a node, a processor. Where something cannot be the bottleneck (a leaf whose way up is as
// wide as all its nodes), there is no resource for it.
//
// Folded: with a period of P ranks, ranks r and r + P are alike, and so are their nodes and leaves. One stands for all,
// and its resources carry what each of the others' carries. See folding.hpp.
#pragma once

#include "collectives/simulator/cluster.hpp"
#include "collectives/simulator/sharing.hpp"

#include <godwit/types.hpp>

#include <array>
#include <span>
#include <string>
#include <vector>

namespace godwit::collectives::simulator {

struct Path {
  static constexpr std::size_t most = 12;
  std::array<Use, most> uses{};
  std::size_t count = 0;
  double latency_s = 0, overhead_s = 0;
  bool copied = false;  // by processors: `uses` are per second of both

  void add(ResourceId resource, double per_byte) { uses[count++] = {resource, per_byte}; }
  std::span<const Use> resources() const noexcept { return {uses.data(), count}; }
};

class Network {
 public:
  /// `period` divides `ranks` and is a multiple of the ranks of a node, or of a leaf where they matter; or it is
  /// `ranks` (nothing is folded). Throws Error(invalid_argument) for more ranks than the cluster has.
  Network(const Cluster& cluster, int ranks, int period);

  const Cluster& cluster() const noexcept { return cluster_; }
  int period() const noexcept { return period_; }
  /// The way of a message. Ranks are real ones, from 0 to ranks - 1.
  Path path(Rank from, Rank to) const;
  /// A rank's own processor, capacity 1: seconds per second.
  ResourceId processor(Rank rank) const noexcept { return static_cast<ResourceId>(rank % period_); }

  bool is_processor(ResourceId resource) const noexcept { return resource < period_; }

  const std::vector<double>& capacities() const noexcept { return capacities_; }
  /// "adapter 0 of node 3, outwards".
  std::string name(ResourceId resource) const;

  /// The smallest period that a cluster allows: ranks of a node, or of a leaf where the leaf matters.
  static int smallest_period(const Cluster& cluster) noexcept;
  /// Leaves are a resource, or a longer way than within a leaf.
  static bool leaves_matter(const Cluster& cluster) noexcept;

 private:
  enum class Kind : std::uint8_t { processor, port_out, port_in, host_out, host_in, node, rail_out, rail_in, up, down };
  struct Block {
    Kind kind;
    ResourceId first;
    int count;
  };
  /// Reserves `count` resources of this capacity; none where the capacity is 0.
  ResourceId reserve(Kind kind, int count, double capacity);
  void add_rail(Path& path, Rank rank, bool outwards) const;

  Cluster cluster_;
  int period_, nodes_, leaves_, rails_;  // distinct ones; rails_ that messages tell apart
  std::vector<double> capacities_;
  std::vector<Block> blocks_;
  ResourceId port_out_, port_in_, host_out_, host_in_, node_, rail_out_, rail_in_, up_, down_;
};

}  // namespace godwit::collectives::simulator
