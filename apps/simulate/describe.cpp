#include "simulate/describe.hpp"

#include "simulate/cluster_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <memory>
#include <stdexcept>

#include <hwloc.h>

namespace godwit::apps {

namespace {

using collectives::simulator::Cluster;
using collectives::simulator::KnownWire;
using collectives::simulator::Mover;

constexpr double GBps = 1e9;

struct Deleter {
  void operator()(hwloc_topology* topology) const noexcept { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, Deleter>;

Topology explore() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw std::runtime_error("simulate --describe: hwloc_topology_init failed");
  Topology topology(raw);
  if (hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) != 0 || hwloc_topology_load(raw) != 0)
    throw std::runtime_error("simulate --describe: hwloc cannot explore this machine; is /sys mounted?");
  return topology;
}

/// NVIDIA and AMD devices of PCI class "display".
std::vector<hwloc_obj_t> accelerators(hwloc_topology_t topology) {
  constexpr unsigned display = 0x03, vendors[] = {0x10de, 0x1002};
  std::vector<hwloc_obj_t> found;
  for (hwloc_obj_t device = nullptr; (device = hwloc_get_next_pcidev(topology, device)) != nullptr;) {
    const auto& pci = device->attr->pcidev;
    if (pci.class_id >> 8 == display &&
        std::find(std::begin(vendors), std::end(vendors), pci.vendor_id) != std::end(vendors))
      found.push_back(device);
  }
  return found;
}

std::vector<hwloc_obj_t> adapters(hwloc_topology_t topology) {
  std::vector<hwloc_obj_t> found;
  for (hwloc_obj_t device = nullptr; (device = hwloc_get_next_osdev(topology, device)) != nullptr;)
    if (device->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS) found.push_back(device);
  return found;
}

std::string line_of(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

/// Of an adapter's first port, in bytes a second; 0 if the kernel does not tell. "200 Gb/sec (4X HDR)".
double port_rate(const std::string& adapter) {
  const std::string rate = line_of(fmt::format("/sys/class/infiniband/{}/ports/1/rate", adapter));
  double gigabits = 0;
  const auto [end, error] = std::from_chars(rate.data(), rate.data() + rate.size(), gigabits);
  return error == std::errc{} ? gigabits * GBps / 8 : 0;
}

void look_for_network(hwloc_topology_t topology, Cluster& cluster, std::string& about) {
  const auto found = adapters(topology);
  const auto& known = collectives::simulator::known_network();
  if (found.empty()) {
    cluster.rail = find(known, "roce100")->wire;
    about += "; no RDMA adapter: the network is an assumption (100 Gbit/s Ethernet)";
    return;
  }
  const std::string name = found.front()->name;
  const bool ethernet = line_of(fmt::format("/sys/class/infiniband/{}/ports/1/link_layer", name)) == "Ethernet";
  constexpr double payload = 0.92;
  cluster.rail = find(known, ethernet ? "roce100" : "hdr")->wire;
  if (const double rate = port_rate(name); rate > 0) cluster.rail.bandwidth_Bps = rate * payload;
  cluster.rails = static_cast<int>(std::min<std::size_t>(found.size(), 64));
  cluster.rail_use = collectives::simulator::RailUse::all;
  const hwloc_obj_t pci = found.front()->parent;
  constexpr double pcie_payload = 0.8;
  if (pci != nullptr && pci->type == HWLOC_OBJ_PCI_DEVICE && pci->attr->pcidev.linkspeed > 0)
    cluster.port_Bps = static_cast<double>(pci->attr->pcidev.linkspeed) * GBps * pcie_payload;
  about += fmt::format("; {} adapter{}, the first is {}", found.size(), found.size() == 1 ? "" : "s", name);
}

void look_for_ranks(hwloc_topology_t topology, Cluster& cluster, std::string& about) {
  const auto gpus = accelerators(topology);
  const auto& known = collectives::simulator::known_inside();
  const int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
  if (gpus.empty()) {
    cluster.ranks_per_node = cores > 0 ? cores : std::max(1, hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU));
    cluster.inside = find(known, "memory")->wire;
    cluster.mover = Mover::processors;
    about += fmt::format("{} cores, a rank on each; rates of memory are assumptions: measure them with godwit perf",
                         cluster.ranks_per_node);
    return;
  }
  cluster.ranks_per_node = static_cast<int>(gpus.size());
  cluster.inside = find(known, "pcie4")->wire;
  constexpr double pcie_payload = 0.8;
  if (const float speed = gpus.front()->attr->pcidev.linkspeed; speed > 0)
    cluster.inside.bandwidth_Bps = static_cast<double>(speed) * GBps * pcie_payload;
  cluster.port_is_inside = true;
  cluster.reduce_Bps = 500 * GBps;
  cluster.copy_Bps = 1000 * GBps;
  about += fmt::format(
      "{} GPUs, a rank on each, linked by PCIe; NVLink is not seen here: set inside.link to nvlink3 or "
      "nvlink4 where there is one; rates of the GPUs are assumptions",
      gpus.size());
}

}  // namespace

std::string describe_this_machine() {
  const Topology topology = explore();
  Cluster cluster;
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  cluster.name = host.data();
  cluster.reduce_Bps = 10 * GBps;
  cluster.copy_Bps = 12 * GBps;
  cluster.eager_bytes = 8192;
  cluster.handshake_s = 0.5e-6;
  cluster.hop_s = 0.2e-6;
  std::string about = "made by godwit simulate --describe: ";
  look_for_ranks(topology.get(), cluster, about);
  look_for_network(topology.get(), cluster, about);
  return cluster_json(cluster, about);
}

}  // namespace godwit::apps
