// Which queue pair a queue pair talks to, and whether packets get there and back.
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "fake_verbs/world.hpp"

namespace godwit::fake_verbs {
namespace {

using verbs::GidEntry;
using verbs::LinkLayer;
using verbs::PortFacts;

bool is_gid(const GidEntry& entry, const ibv_gid& gid) { return std::memcmp(entry.gid.data(), gid.raw, 16) == 0; }

const GidEntry* entry_at(const PortFacts& port, unsigned index) {
  const auto found =
      std::find_if(port.gids.begin(), port.gids.end(), [&](const GidEntry& e) { return e.index == index; });
  return found == port.gids.end() ? nullptr : &*found;
}

bool has_lid(const PortFacts& port, std::uint16_t lid) {
  return port.link == LinkLayer::infiniband && lid >= port.lid && lid < port.lid + (1U << port.lmc);
}

/// The port to which an address vector leads; `from` is where it is used.
bool leads_to(const ibv_ah_attr& path, const Port& from, const Port& to) {
  if (from.facts.link != to.facts.link) return false;
  if (path.is_global == 0) return has_lid(to.facts, path.dlid);
  const GidEntry* const source = entry_at(from.facts, path.grh.sgid_index);
  if (source == nullptr) return false;
  return std::any_of(to.facts.gids.begin(), to.facts.gids.end(),
                     [&](const GidEntry& entry) { return entry.type == source->type && is_gid(entry, path.grh.dgid); });
}

bool share_a_key(const QueuePair& one, const QueuePair& other) {
  const std::uint16_t a = one.port->facts.pkeys[one.attributes.pkey_index];
  const std::uint16_t b = other.port->facts.pkeys[other.attributes.pkey_index];
  return (a & 0x7fff) == (b & 0x7fff) && ((a | b) & 0x8000) != 0;
}

bool path_works(const World& world, const Port& one, const Port& other) {
  return one.facts.active && other.facts.active && !one.device->removed && !other.device->removed &&
         !world.cut.contains(std::minmax(&one, &other));
}

QueuePair* find_peer(const World& world, const QueuePair& pair) {
  const auto found = world.pairs.find(pair.attributes.dest_qp_num);
  if (found == world.pairs.end()) return nullptr;
  QueuePair& peer = *found->second;
  if (peer.home->process->dead || peer.device->is_iwarp() != pair.device->is_iwarp()) return nullptr;
  return &peer;
}

QueuePair::Reach evaluate(const World& world, const QueuePair& pair, const QueuePair* peer) {
  using Reach = QueuePair::Reach;
  if (peer == nullptr || peer->condition == IBV_QPS_ERR) return Reach::never;
  const bool iwarp = pair.device->is_iwarp();
  if (peer->condition == IBV_QPS_RESET) return peer->used ? Reach::never : Reach::not_yet;
  if (!iwarp && !leads_to(pair.attributes.ah_attr, *pair.port, *peer->port)) return Reach::never;
  if (!path_works(world, *pair.port, *peer->port)) return Reach::never;
  if (peer->condition == IBV_QPS_INIT) return Reach::not_yet;
  if (peer->attributes.dest_qp_num != pair.qp_num) return Reach::never;
  if (iwarp) return Reach::ready;
  // Acknowledgements must find their way back, and the first packet must be the expected one.
  if (!leads_to(peer->attributes.ah_attr, *peer->port, *pair.port)) return Reach::never;
  if (((peer->attributes.rq_psn ^ pair.attributes.sq_psn) & 0xffffff) != 0) return Reach::never;
  return share_a_key(pair, *peer) ? Reach::ready : Reach::never;
}

}  // namespace

QueuePair::Reach look_up(World& world, QueuePair& pair) {
  pair.route_epoch = world.epoch;
  QueuePair* const peer = find_peer(world, pair);
  pair.reach = evaluate(world, pair, peer);
  pair.peer = pair.reach == QueuePair::Reach::ready ? peer : nullptr;
  if (pair.peer != nullptr) pair.largest_packet = std::min(pair.port->facts.mtu, peer->port->facts.mtu);
  return pair.reach;
}

Port* Device::port(unsigned number) {
  const auto found = std::find_if(ports.begin(), ports.end(), [&](const Port& p) { return p.facts.number == number; });
  return found == ports.end() ? nullptr : &*found;
}

Port& World::find(const PortName& name) {
  const auto host = hosts.find(name.host);
  if (host != hosts.end()) {
    for (const auto& device : host->second) {
      Port* const port = name.device == device->name ? device->port(name.port) : nullptr;
      if (port != nullptr) return *port;
    }
  }
  throw std::invalid_argument("no port " + name.host + "/" + name.device + ":" + std::to_string(name.port));
}

QueuePair& World::find(std::uint32_t pair) {
  const auto found = pairs.find(pair);
  if (found == pairs.end()) throw std::invalid_argument("no queue pair " + std::to_string(pair));
  return *found->second;
}

void World::stall(QueuePair& pair) {
  if (pair.stalled) return;
  pair.stalled = true;
  stalled.push_back(&pair);
}

void World::kick() {
  if (stalled.empty()) return;
  const auto waiting = std::move(stalled);
  stalled.clear();
  for (QueuePair* pair : waiting) pair->stalled = false;
  for (QueuePair* pair : waiting) advance(*this, *pair);
}

void World::forget(QueuePair& pair) {
  std::erase(stalled, &pair);
  pairs.erase(pair.qp_num);
  ++epoch;
}

}  // namespace godwit::fake_verbs
