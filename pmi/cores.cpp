#include "pmi/cores.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <cerrno>
#include <cstring>
#include <memory>

#include <hwloc.h>

namespace godwit::pmi {
namespace {

struct Deleter {
  void operator()(hwloc_topology* topology) const noexcept { hwloc_topology_destroy(topology); }
  void operator()(hwloc_bitmap_s* bitmap) const noexcept { hwloc_bitmap_free(bitmap); }
};
using Topology = std::unique_ptr<hwloc_topology, Deleter>;
using Bitmap = std::unique_ptr<hwloc_bitmap_s, Deleter>;

void check(bool ok, const char* call) {
  if (!ok)
    throw Error(ErrorCode::bootstrap,
                fmt::format("cannot explore this host's cores: {}: {}; is /sys mounted?", call, std::strerror(errno)));
}

// CPUs that a cpuset of this container excludes are left out by hwloc.
Topology explore() {
  hwloc_topology_t raw = nullptr;
  check(hwloc_topology_init(&raw) == 0, "hwloc_topology_init");
  Topology topology(raw);
  check(hwloc_topology_load(raw) == 0, "hwloc_topology_load");
  return topology;
}

// Some virtual machines do not say what their cores are: then each CPU is one.
hwloc_obj_type_t type_of(Unit unit, const Topology& topology) {
  if (unit == Unit::numa) return HWLOC_OBJ_NUMANODE;
  return hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
}

Cpus numbers_in(const Bitmap& bitmap) {
  Cpus cpus;
  for (int cpu = hwloc_bitmap_first(bitmap.get()); cpu >= 0; cpu = hwloc_bitmap_next(bitmap.get(), cpu))
    cpus.push_back(cpu);
  return cpus;
}

}  // namespace

std::vector<Cpus> usable_units(Unit unit) {
  const Topology topology = explore();
  const Bitmap bound(hwloc_bitmap_alloc()), common(hwloc_bitmap_alloc());
  check(bound && common, "hwloc_bitmap_alloc");
  check(hwloc_get_cpubind(topology.get(), bound.get(), HWLOC_CPUBIND_THREAD) == 0, "hwloc_get_cpubind");
  const hwloc_obj_type_t type = type_of(unit, topology);
  std::vector<Cpus> units;
  for (hwloc_obj_t object = nullptr; (object = hwloc_get_next_obj_by_type(topology.get(), type, object)) != nullptr;) {
    check(hwloc_bitmap_and(common.get(), object->cpuset, bound.get()) == 0, "hwloc_bitmap_and");
    if (!hwloc_bitmap_iszero(common.get())) units.push_back(numbers_in(common));
  }
  return units;
}

int core_count() {
  const Topology topology = explore();
  return hwloc_get_nbobjs_by_type(topology.get(), type_of(Unit::core, topology));
}

}  // namespace godwit::pmi
