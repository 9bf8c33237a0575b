// Clusters that several tests simulate.
#pragma once

#include "collectives/simulator/prediction.hpp"

#include <string_view>

namespace godwit::collectives::simulator {

inline constexpr double alpha = 2e-6, beta = 1e-9, gamma_ = 0.25e-9;

/// One rank per node, a switch that is in nobody's way, no cost but alpha, beta and gamma; messages are not cut.
inline Cluster plain(int nodes) {
  Cluster cluster;
  cluster.name = "plain";
  cluster.nodes = nodes;
  cluster.rail = {.latency_s = alpha, .bandwidth_Bps = 1 / beta};
  cluster.reduce_Bps = 1 / gamma_;
  cluster.chunk_bytes = std::uint64_t{1} << 40;
  return cluster;
}

/// Nodes of eight ranks with everything that a message can meet.
inline Cluster crowded(int nodes) {
  Cluster cluster;
  cluster.name = "crowded";
  cluster.nodes = nodes;
  cluster.ranks_per_node = 8;
  cluster.inside = {1e-6, 0.3e-6, 200e9};
  cluster.inside_total_Bps = 900e9;
  cluster.rail = {0.7e-6, 0.25e-6, 23e9};
  cluster.rails = 2;
  cluster.port_Bps = 20e9;
  cluster.hop_s = 0.2e-6;
  cluster.reduce_Bps = 300e9;
  cluster.copy_Bps = 500e9;
  cluster.eager_bytes = 8192;
  cluster.handshake_s = 1.5e-6;
  return cluster;
}

inline const Algorithm& algorithm(Collective collective, std::string_view name) {
  if (const Algorithm* known = find_algorithm(collective, name)) return *known;
  throw std::invalid_argument(std::string(name));
}

/// `count` elements of eight bytes.
inline Problem problem_of(Collective collective, int ranks, std::uint64_t count) {
  return {.collective = collective, .size = ranks, .count = count, .type = DataType::float64};
}

inline double full(const Cluster& cluster, const Algorithm& algorithm, const Problem& problem) {
  return run(cluster, algorithm, problem, false)->outcome.seconds;
}

}  // namespace godwit::collectives::simulator
