// Fabric: hosts, processes, trouble. Delivery by hand is in steps.cpp.
#include "fake_verbs/fabric.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "fake_verbs/world.hpp"

namespace godwit::fake_verbs {
namespace {

void check(const DeviceSetup& setup) {
  const verbs::DeviceFacts& facts = setup.facts;
  if (facts.name.empty() || facts.name.size() >= IBV_SYSFS_NAME_MAX) throw std::invalid_argument("name of a device");
  if (facts.max_sge < 1 || facts.max_sge > most_pieces) throw std::invalid_argument(facts.name + ": max_sge");
  if (facts.ports.size() > 255) throw std::invalid_argument(facts.name + ": ports");
}

std::unique_ptr<Device> make_device(World& world, const std::string& host, DeviceSetup setup) {
  check(setup);
  auto device = std::make_unique<Device>();
  device->world = &world;
  device->host = host;
  device->setup = std::move(setup);
  device->node_type = device->is_iwarp() ? IBV_NODE_RNIC : IBV_NODE_CA;
  device->transport_type = device->is_iwarp() ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
  std::snprintf(device->name, sizeof device->name, "%s", device->setup.facts.name.c_str());
  for (const verbs::PortFacts& facts : device->setup.facts.ports) device->ports.push_back({device.get(), facts});
  return device;
}

}  // namespace

Fabric::Fabric() : world_(std::make_unique<World>()) {}

Fabric::~Fabric() {
  for (const auto& process : world_->processes) {
    for (const auto& [key, region] : process->state().regions) {
      if (region->mapping != nullptr) munmap(region->mapping, region->mapped);
    }
  }
}

void Fabric::add_host(std::string name, std::vector<DeviceSetup> devices) {
  const std::lock_guard lock(world_->mutex);
  if (world_->hosts.contains(name)) throw std::invalid_argument("host " + name + " exists");
  std::vector<std::unique_ptr<Device>> made;
  for (DeviceSetup& setup : devices) made.push_back(make_device(*world_, name, std::move(setup)));
  world_->hosts.emplace(std::move(name), std::move(made));
}

void Fabric::set_net_interfaces(std::string_view host, std::vector<verbs::NetInterface> interfaces) {
  const std::lock_guard lock(world_->mutex);
  world_->interfaces.insert_or_assign(std::string(host), std::move(interfaces));
}

Process& Fabric::add_process(std::string_view host) {
  const std::lock_guard lock(world_->mutex);
  if (!world_->hosts.contains(host)) throw std::invalid_argument("no host " + std::string(host));
  auto state = std::make_unique<ProcessState>();
  state->world = world_.get();
  state->host = host;
  state->name = state->host + "/" + std::to_string(world_->processes.size());
  return *world_->processes.emplace_back(std::make_unique<Process>(std::move(state)));
}

void Fabric::manual_time_outs(bool manual) {
  const std::lock_guard lock(world_->mutex);
  world_->manual_time_outs = manual;
  world_->kick();
}

void Fabric::set_patience(std::chrono::milliseconds patience) {
  const std::lock_guard lock(world_->mutex);
  world_->patience = patience;
}

void Fabric::set_port(const PortName& name, bool up) {
  const std::lock_guard lock(world_->mutex);
  Port& port = world_->find(name);
  if (port.facts.active == up) return;
  port.facts.active = up;
  port.facts.state = up ? "Active" : "Down";
  port.facts.physical_state = up ? "LinkUp" : "Polling";
  raise(port, up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
  ++world_->epoch;
  world_->kick();
}

void Fabric::set_gids(const PortName& name, std::vector<verbs::GidEntry> gids) {
  const std::lock_guard lock(world_->mutex);
  Port& port = world_->find(name);
  port.facts.gids = std::move(gids);
  raise(port, IBV_EVENT_GID_CHANGE);
  ++world_->epoch;
  world_->kick();
}

void Fabric::set_path(const PortName& one, const PortName& other, bool up) {
  const std::lock_guard lock(world_->mutex);
  const Port* const a = &world_->find(one);
  const Port* const b = &world_->find(other);
  if (up) {
    world_->cut.erase(std::minmax(a, b));
  } else {
    world_->cut.insert(std::minmax(a, b));
  }
  ++world_->epoch;
  world_->kick();
}

void Fabric::remove_device(std::string_view host, std::string_view name) {
  const std::lock_guard lock(world_->mutex);
  const auto found = world_->hosts.find(host);
  if (found == world_->hosts.end()) throw std::invalid_argument("no host " + std::string(host));
  for (const auto& device : found->second) {
    if (name != device->name) continue;
    device->removed = true;
    raise(*device, IBV_EVENT_DEVICE_FATAL);
    for (const auto& [number, pair] : world_->pairs) {
      if (pair->device == device.get() && pair->condition != IBV_QPS_RESET) enter_error(*world_, *pair);
    }
    ++world_->epoch;
    world_->kick();
    return;
  }
  throw std::invalid_argument("no device " + std::string(name));
}

void Fabric::fail_pair(std::uint32_t number) {
  const std::lock_guard lock(world_->mutex);
  QueuePair& pair = world_->find(number);
  raise(pair, IBV_EVENT_QP_FATAL);
  enter_error(*world_, pair);
  world_->kick();
}

void Fabric::fail_queue(ibv_cq* queue) {
  const std::lock_guard lock(world_->mutex);
  static_cast<CompletionQueue*>(queue)->fail();
  world_->kick();
}

void Fabric::kill(Process& process) {
  const std::lock_guard lock(world_->mutex);
  process.state().dead = true;
  for (const auto& [key, pair] : process.state().queue_pairs) pair->silent = true;
  ++world_->epoch;
  world_->kick();
}

void Fabric::connect_iwarp(ibv_qp* one, ibv_qp* other, std::uint8_t reads) {
  const std::lock_guard lock(world_->mutex);
  const auto connect = [&](QueuePair& pair, const QueuePair& peer) {
    if (!pair.device->is_iwarp() || (pair.condition != IBV_QPS_RESET && pair.condition != IBV_QPS_INIT)) {
      throw std::invalid_argument("connect_iwarp needs fresh queue pairs of iWARP");
    }
    pair.port = &pair.device->ports.at(0);
    pair.attributes.port_num = static_cast<std::uint8_t>(pair.port->facts.number);
    pair.attributes.dest_qp_num = peer.qp_num;
    pair.attributes.max_rd_atomic = pair.attributes.max_dest_rd_atomic = reads;
    pair.attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    pair.condition = pair.state = IBV_QPS_RTS;
    pair.used = true;
  };
  auto& first = static_cast<QueuePair&>(*one);
  auto& second = static_cast<QueuePair&>(*other);
  connect(first, second);
  connect(second, first);
  ++world_->epoch;
  world_->kick();
}

std::vector<std::string> Fabric::defects() const {
  const std::lock_guard lock(world_->mutex);
  return world_->defects;
}

std::vector<std::string> Fabric::leaks() const {
  const std::lock_guard lock(world_->mutex);
  std::vector<std::string> all;
  for (const auto& process : world_->processes) {
    const ProcessState& state = process->state();
    if (state.dead) continue;
    for (const std::string& leak : state.leaks()) all.push_back(state.name + ": " + leak);
  }
  return all;
}

}  // namespace godwit::fake_verbs
