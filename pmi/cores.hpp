// This host's CPUs by core and by NUMA node (hwloc). Any thread.
#pragma once

#include <vector>

namespace godwit::pmi {

using Cpus = std::vector<int>;  // numbers of logical CPUs, ascending

enum class Unit : unsigned char { core, numa };

/// Each core (NUMA node) with those of its CPUs that the calling thread may run on, neighbours next to each other; one
/// without any is left out. Throws Error(bootstrap) when the host cannot be explored.
std::vector<Cpus> usable_units(Unit unit);
/// How many cores the processes of this container may use, whatever they are bound to now. Throws as above.
int core_count();

}  // namespace godwit::pmi
