// The engine tests' cluster with a collective context for each rank, single-stepped.
#pragma once

#include "collectives/collective.hpp"
#include "engine/harness.hpp"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace godwit::collectives_test {

using collectives::CollectiveContext;
using engine_test::Cluster;
using engine_test::ClusterSettings;
using engine_test::Pending;

inline ClusterSettings settings(int ranks, std::map<std::string, std::string> options = {}) {
  options.emplace("EAGER_LIMIT", "64");  // so that small tests have rendezvous, too
  ClusterSettings s;
  s.ranks = ranks;
  s.fabric.record = false;
  s.options = std::move(options);
  return s;
}

/// The ranks of a cluster with their contexts.
class Ranks {
 public:
  explicit Ranks(ClusterSettings settings) : cluster(std::move(settings)) {
    for (Rank rank = 0; rank < cluster.size(); ++rank)
      contexts.push_back(std::make_unique<CollectiveContext>(cluster.worker(rank), cluster.world(rank)));
  }
  Pending start(Rank rank, const CollectiveCall& call) {
    core::Worker& worker = cluster.worker(rank);
    const auto lock = worker.lock();
    return {worker, start_collective(worker, *contexts[static_cast<std::size_t>(rank)], call)};
  }

  Cluster cluster;
  std::vector<std::unique_ptr<CollectiveContext>> contexts;
};

}  // namespace godwit::collectives_test
