// How far a NUMA node's devices are from where this process may run. Threads: any.
#pragma once

#include <string>
#include <vector>

namespace godwit::verbs {

struct Placement {
  /// By number of the NUMA node, as the firmware tells (10: local, 20: another socket); empty: unknown, or one node.
  std::vector<unsigned> distance;

  /// 10 for a node that is not known: nobody has said that it is far.
  unsigned to(int numa_node) const noexcept;
};

/// From the CPUs that the calling thread may use, and /sys/devices/system/node.
Placement placement_here();

/// Nodes with their CPUs and their rows of distances, as sysfs has them. Pure.
struct NumaNode {
  unsigned number = 0;
  std::vector<int> cpus;            // ascending
  std::vector<unsigned> distances;  // to the nodes in ascending order
};
Placement placement_among(const std::vector<NumaNode>& nodes, const std::vector<int>& cpus);

}  // namespace godwit::verbs
