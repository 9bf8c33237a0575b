#include "verbs/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "core/cpus.hpp"

namespace godwit::verbs {
namespace {

constexpr unsigned local_distance = 10;
constexpr const char* folder = "/sys/devices/system/node/";

std::string first_word(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

}  // namespace

unsigned Placement::to(int numa_node) const noexcept {
  const bool known = numa_node >= 0 && static_cast<std::size_t>(numa_node) < distance.size();
  return known ? distance[static_cast<std::size_t>(numa_node)] : local_distance;
}

Placement placement_among(const std::vector<NumaNode>& nodes, const std::vector<int>& cpus) {
  constexpr unsigned far = std::numeric_limits<unsigned>::max();
  Placement placement;
  for (const NumaNode& from : nodes) {
    const auto here = [&](int cpu) { return std::ranges::binary_search(from.cpus, cpu); };
    if (std::ranges::none_of(cpus, here)) continue;
    for (std::size_t i = 0; i < std::min(nodes.size(), from.distances.size()); ++i) {
      const std::size_t to = nodes[i].number;
      if (placement.distance.size() <= to) placement.distance.resize(to + 1, far);
      placement.distance[to] = std::min(placement.distance[to], from.distances[i]);
    }
  }
  std::ranges::replace(placement.distance, far, local_distance);
  return placement;
}

Placement placement_here() {
  std::vector<NumaNode> nodes;
  for (const int number : core::parse_cpu_list(first_word(fmt::format("{}online", folder)))) {
    NumaNode node;
    node.number = static_cast<unsigned>(number);
    node.cpus = core::parse_cpu_list(first_word(fmt::format("{}node{}/cpulist", folder, number)));
    std::ifstream file(fmt::format("{}node{}/distance", folder, number));
    for (unsigned distance = 0; file >> distance;) node.distances.push_back(distance);
    nodes.push_back(std::move(node));
  }
  return placement_among(nodes, core::allowed_cpus());
}

}  // namespace godwit::verbs
