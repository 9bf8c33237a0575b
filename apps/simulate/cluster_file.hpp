// Cluster files: JSON to Cluster and back. Pure. docs/simulator.md lists the keys.
#pragma once

#include "collectives/simulator/cluster.hpp"

#include <string>

namespace godwit::apps {

/// Throws report::InputError that names the file, the key, what is there and what is allowed.
collectives::simulator::Cluster parse_cluster(const std::string& text, const std::string& file);

/// With every key, so that it can be read back. `about`: words for people.
std::string cluster_json(const collectives::simulator::Cluster& cluster, const std::string& about);

}  // namespace godwit::apps
