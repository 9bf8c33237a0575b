#include "collectives/simulator/cluster.hpp"

#include <godwit/error.hpp>

#include <fmt/format.h>

#include <cmath>

namespace godwit::collectives::simulator {

namespace {

constexpr double us = 1e-6, GBps = 1e9;

void require(bool good, std::string_view what, double found, std::string_view allowed) {
  if (!good) throw Error(ErrorCode::invalid_argument, fmt::format("cluster: {} is {}; {}", what, found, allowed));
}

void check_wire(const Wire& wire, std::string_view name) {
  const auto member = [&](std::string_view word) { return fmt::format("{} of {}", word, name); };
  require(wire.latency_s >= 0, member("latency"), wire.latency_s, "0 or more is allowed");
  require(wire.overhead_s >= 0, member("overhead"), wire.overhead_s, "0 or more is allowed");
  require(wire.bandwidth_Bps > 0, member("bandwidth"), wire.bandwidth_Bps, "more than 0 is needed");
}

}  // namespace

void check(const Cluster& cluster) {
  constexpr int most_ranks = 1 << 20;
  require(cluster.nodes >= 1, "the number of nodes", cluster.nodes, "at least 1 is needed");
  require(cluster.ranks_per_node >= 1, "the number of ranks per node", cluster.ranks_per_node, "at least 1 is needed");
  require(cluster.nodes <= most_ranks / cluster.ranks_per_node, "the number of nodes", cluster.nodes,
          "at most 1048576 ranks in all are allowed");
  check_wire(cluster.inside, "the link inside a node");
  check_wire(cluster.rail, "the network");
  require(cluster.inside_total_Bps >= 0, "the total inside a node", cluster.inside_total_Bps, "0 or more is allowed");
  require(cluster.inside_total_Bps == 0 || cluster.mover == Mover::engine, "the total inside a node",
          cluster.inside_total_Bps, "it can be given for engines only; processors limit themselves");
  require(cluster.inside_times.empty() || cluster.mover == Mover::processors, "the mover of measured times", 0,
          "only times of processors can be given");
  for (std::size_t i = 0; i < cluster.inside_times.size(); ++i) {
    const auto [bytes, seconds] = cluster.inside_times[i];
    require(seconds > 0, "a measured time inside a node", seconds, "more than 0 is needed");
    require(i == 0 || (bytes > cluster.inside_times[i - 1].first && seconds >= cluster.inside_times[i - 1].second),
            "a measured time inside a node", seconds, "sizes must ascend, and times must not descend");
    require(seconds >= cluster.inside.latency_s, "a measured time inside a node", seconds,
            "it cannot be less than the latency");
  }
  require(cluster.rails >= 1 && cluster.rails <= 64, "the number of rails", cluster.rails, "1 to 64 are allowed");
  require(cluster.rails <= cluster.ranks_per_node || cluster.rail_use == RailUse::all, "the number of rails",
          cluster.rails, "with one rail for each rank (nearest) there cannot be more rails than ranks per node");
  require(cluster.port_Bps >= 0, "the bandwidth of a port", cluster.port_Bps, "0 or more is allowed");
  require(cluster.hop_s >= 0, "the latency of a switch", cluster.hop_s, "0 or more is allowed");
  require(cluster.nodes_per_leaf >= 0, "the number of nodes per leaf", cluster.nodes_per_leaf, "0 or more is allowed");
  require(cluster.oversubscription >= 1, "the oversubscription", cluster.oversubscription, "1 or more is allowed");
  require(cluster.reduce_Bps > 0, "the rate of reductions", cluster.reduce_Bps, "more than 0 is needed");
  require(cluster.copy_Bps > 0, "the rate of copies", cluster.copy_Bps, "more than 0 is needed");
  require(cluster.handshake_s >= 0, "the handshake", cluster.handshake_s, "0 or more is allowed");
  require(cluster.chunk_bytes >= 1, "the chunk", static_cast<double>(cluster.chunk_bytes), "at least 1 is needed");
}

double Cluster::copied_s(std::uint64_t bytes) const noexcept {
  const auto size = static_cast<double>(bytes);
  if (inside_times.empty()) return inside.latency_s + 2 * inside.overhead_s + size / inside.bandwidth_Bps;
  if (inside_times.size() == 1 || bytes <= inside_times.front().first) return inside_times.front().second;
  std::size_t above = 1;
  while (above + 1 < inside_times.size() && inside_times[above].first < bytes) ++above;  // the last piece goes on
  const auto [x1, y1] = inside_times[above - 1];
  const auto [x2, y2] = inside_times[above];
  return y1 + (y2 - y1) * (size - static_cast<double>(x1)) / static_cast<double>(x2 - x1);
}

const std::vector<KnownWire>& known_inside() {
  static const std::vector<KnownWire> list{
      {"nvlink3",
       {1.4 * us, 0.05 * us, 240 * GBps},
       "A100 through NVSwitch: 300 GB/s on the wires, 80 % of it payload"},
      {"nvlink4",
       {1.2 * us, 0.05 * us, 370 * GBps},
       "H100 through NVSwitch: 450 GB/s on the wires, 82 % of it payload"},
      {"pcie4", {2.0 * us, 0.05 * us, 25 * GBps}, "16 lanes: 31.5 GB/s on the wires, 80 % of it payload"},
      {"pcie5", {2.0 * us, 0.05 * us, 50 * GBps}, "16 lanes: 63 GB/s on the wires, 80 % of it payload"},
      {"memory", {0.15 * us, 0.1 * us, 10 * GBps}, "shared memory of a server, copied by the ranks themselves"},
  };
  return list;
}

const std::vector<KnownWire>& known_network() {
  static const std::vector<KnownWire> list{
      {"edr", {0.6 * us, 0.25 * us, 11.5 * GBps}, "InfiniBand, 100 Gbit/s"},
      {"hdr", {0.6 * us, 0.25 * us, 23.5 * GBps}, "InfiniBand, 200 Gbit/s"},
      {"ndr", {0.6 * us, 0.25 * us, 47 * GBps}, "InfiniBand, 400 Gbit/s"},
      {"xdr", {0.6 * us, 0.25 * us, 94 * GBps}, "InfiniBand, 800 Gbit/s"},
      {"roce25", {0.8 * us, 0.25 * us, 2.8 * GBps}, "Ethernet, 25 Gbit/s"},
      {"roce100", {0.8 * us, 0.25 * us, 11.3 * GBps}, "Ethernet, 100 Gbit/s"},
      {"roce200", {0.8 * us, 0.25 * us, 22.8 * GBps}, "Ethernet, 200 Gbit/s"},
      {"roce400", {0.8 * us, 0.25 * us, 45.6 * GBps}, "Ethernet, 400 Gbit/s"},
  };
  return list;
}

const KnownWire* find(const std::vector<KnownWire>& list, std::string_view name) noexcept {
  for (const KnownWire& known : list)
    if (known.name == name) return &known;
  return nullptr;
}

}  // namespace godwit::collectives::simulator
