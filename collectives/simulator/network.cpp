#include "collectives/simulator/network.hpp"

#include <godwit/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace godwit::collectives::simulator {

namespace {

int divided_up(int a, int b) noexcept { return (a + b - 1) / b; }

/// A share of a capacity that is infinite stays within numbers.
double finite(double capacity) noexcept { return std::min(capacity, 1e30); }

}  // namespace

bool Network::leaves_matter(const Cluster& cluster) noexcept {
  return cluster.nodes_per_leaf > 0 && cluster.nodes > cluster.nodes_per_leaf &&
         (cluster.oversubscription > 1 || cluster.hop_s > 0);
}

int Network::smallest_period(const Cluster& cluster) noexcept {
  return cluster.ranks_per_node * (leaves_matter(cluster) ? cluster.nodes_per_leaf : 1);
}

Network::Network(const Cluster& cluster, int ranks, int period)
    : cluster_(cluster),
      period_(period),
      nodes_(divided_up(period, cluster.ranks_per_node)),
      leaves_(leaves_matter(cluster) ? divided_up(nodes_, cluster.nodes_per_leaf) : 1),
      rails_(cluster.rail_use == RailUse::all ? 1 : cluster.rails) {
  if (ranks > cluster.ranks())
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} ranks on cluster '{}', which has {} nodes of {} ranks: {} in all; raise its number of "
                            "nodes, or simulate fewer ranks",
                            ranks, cluster.name, cluster.nodes, cluster.ranks_per_node, cluster.ranks()));
  const double joined = cluster.rail_use == RailUse::all ? cluster.rails : 1;  // rails that a message sees as one
  const double rail = cluster.rail.bandwidth_Bps * joined;
  reserve(Kind::processor, period_, 1);
  const double port = cluster.mover == Mover::engine ? cluster.inside.bandwidth_Bps : 0;
  port_out_ = reserve(Kind::port_out, period_, port);
  port_in_ = reserve(Kind::port_in, period_, port);
  // With all rails, a message reaches each adapter by that one's own port.
  const int hosts = cluster.rail_use == RailUse::all ? nodes_ : period_;
  const double host = cluster.port_is_inside ? 0 : cluster.port_Bps * joined;
  host_out_ = reserve(Kind::host_out, hosts, host);
  host_in_ = reserve(Kind::host_in, hosts, host);
  node_ = reserve(Kind::node, nodes_, cluster.inside_total_Bps);
  rail_out_ = reserve(Kind::rail_out, nodes_ * rails_, rail);
  rail_in_ = reserve(Kind::rail_in, nodes_ * rails_, rail);
  const bool narrow = leaves_matter(cluster) && cluster.oversubscription > 1;
  const double way = narrow ? rail * cluster.nodes_per_leaf / cluster.oversubscription : 0;
  up_ = reserve(Kind::up, leaves_ * rails_, way);
  down_ = reserve(Kind::down, leaves_ * rails_, way);
}

ResourceId Network::reserve(Kind kind, int count, double capacity) {
  if (capacity == 0) return no_resource;
  const auto first = static_cast<ResourceId>(capacities_.size());
  blocks_.push_back({kind, first, count});
  capacities_.insert(capacities_.end(), static_cast<std::size_t>(count), finite(capacity));
  return first;
}

void Network::add_rail(Path& path, Rank rank, bool outwards) const {
  const int seat = rank % period_, node = seat / cluster_.ranks_per_node;
  const int rail = rails_ == 1 ? 0 : seat % cluster_.ranks_per_node * rails_ / cluster_.ranks_per_node;
  const int host = cluster_.rail_use == RailUse::all ? node : seat;
  if (cluster_.port_is_inside && port_out_ != no_resource) path.add((outwards ? port_out_ : port_in_) + seat, 1);
  if (host_out_ != no_resource) path.add((outwards ? host_out_ : host_in_) + host, 1);
  path.add((outwards ? rail_out_ : rail_in_) + node * rails_ + rail, 1);
}

Path Network::path(Rank from, Rank to) const {
  const int node_from = from / cluster_.ranks_per_node, node_to = to / cluster_.ranks_per_node;
  Path path;
  if (node_from == node_to) {
    path.latency_s = cluster_.inside.latency_s;
    path.overhead_s = cluster_.inside.overhead_s;
    if (cluster_.mover == Mover::processors) {
      path.copied = true;
      path.add(processor(from), 1);
      path.add(processor(to), 1);
      return path;
    }
    path.add(port_out_ + from % period_, 1);
    path.add(port_in_ + to % period_, 1);
    if (node_ != no_resource) path.add(node_ + from % period_ / cluster_.ranks_per_node, 1);
    return path;
  }
  path.overhead_s = cluster_.rail.overhead_s;
  add_rail(path, from, true);
  int hops = 1;
  if (leaves_matter(cluster_)) {
    const int leaf_from = node_from / cluster_.nodes_per_leaf, leaf_to = node_to / cluster_.nodes_per_leaf;
    if (leaf_from != leaf_to) {
      hops = 3;  // leaf, spine, leaf
      const auto rail_of = [&](Rank rank) {
        return rails_ == 1 ? 0 : rank % cluster_.ranks_per_node * rails_ / cluster_.ranks_per_node;
      };
      if (up_ != no_resource) {
        path.add(up_ + leaf_from % leaves_ * rails_ + rail_of(from), 1);
        path.add(down_ + leaf_to % leaves_ * rails_ + rail_of(to), 1);
      }
    }
  }
  path.latency_s = cluster_.rail.latency_s + hops * cluster_.hop_s;
  add_rail(path, to, false);
  return path;
}

std::string Network::name(ResourceId resource) const {
  const auto block = std::find_if(blocks_.begin(), blocks_.end(),
                                  [&](const Block& b) { return resource >= b.first && resource < b.first + b.count; });
  if (block == blocks_.end()) return "?";
  const int index = resource - block->first;
  const auto rail = [&](std::string_view what, std::string_view where, std::string_view way) {
    if (rails_ > 1) return fmt::format("{} {} of {} {}, {}", what, index % rails_, where, index / rails_, way);
    return fmt::format("{}{} of {} {}, {}", what, cluster_.rails > 1 ? "s" : "", where, index, way);
  };
  const std::string_view host = cluster_.rail_use == RailUse::all ? "node" : "rank";
  switch (block->kind) {
    case Kind::processor: return fmt::format("processor of rank {}", index);
    case Kind::port_out: return fmt::format("port of rank {}, outwards", index);
    case Kind::port_in: return fmt::format("port of rank {}, inwards", index);
    case Kind::host_out: return fmt::format("PCIe of {} {}, outwards", host, index);
    case Kind::host_in: return fmt::format("PCIe of {} {}, inwards", host, index);
    case Kind::node: return fmt::format("inside of node {}", index);
    case Kind::rail_out: return rail("adapter", "node", "outwards");
    case Kind::rail_in: return rail("adapter", "node", "inwards");
    case Kind::up: return rail("way up", "leaf", "to the spine");
    case Kind::down: return rail("way down", "leaf", "from the spine");
  }
  return "?";
}

}  // namespace godwit::collectives::simulator
