// Cluster: the machine that a simulation takes place on, as a value. Seconds and bytes per second. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace godwit::collectives::simulator {

/// What one message needs. Bandwidth is that of one direction; both directions can be used at once.
struct Wire {
  double latency_s = 0;   // from the last byte's departure to its arrival
  double overhead_s = 0;  // of a processor, at each end of a message
  double bandwidth_Bps = std::numeric_limits<double>::infinity();
};

/// Who moves the bytes between ranks of one node.
enum class Mover : std::uint8_t {
  engine,      // copy engines, loads and stores of a GPU: the processors of the ranks are free meanwhile
  processors,  // those of the ranks. Up to eager_bytes, the sender copies into a buffer and the receiver out of it:
               // each is busy for half of the bytes' time. Longer messages are copied by the receiver, and from
               // joint_bytes on by both together.
};

/// How the messages between nodes use the rails of a node.
enum class RailUse : std::uint8_t {
  nearest,  // each rank has one: ranks_per_node / rails ranks share it
  all,      // each message is cut evenly over all of them
};

struct Cluster {
  std::string name;
  int nodes = 1;
  int ranks_per_node = 1;

  Wire inside{};  // between ranks of one node; bandwidth of one rank's port
  Mover mover = Mover::engine;
  /// Of a message alone between two ranks, by bytes, ascending: seconds until it is received (half a round trip). Where
  /// it is given (for processors only), it replaces overhead, bandwidth and handshake. Straight lines between points.
  std::vector<std::pair<std::uint64_t, double>> inside_times{};
  double inside_total_Bps = 0;  // of all transfers within a node together; 0: the ports are the only limit

  Wire rail{};  // between nodes; latency without switches, bandwidth of one rail
  int rails = 1;
  RailUse rail_use = RailUse::nearest;
  double port_Bps = 0;          // between a rank's memory and its adapter (PCIe); 0: no limit of its own
  bool port_is_inside = false;  // messages within the node use the same port

  double hop_s = 0;             // one switch
  int nodes_per_leaf = 0;       // two levels of switches; 0: all nodes at one switch
  double oversubscription = 1;  // bandwidth of a leaf's nodes by that of its way up

  double reduce_Bps = std::numeric_limits<double>::infinity();  // bytes of the result
  double copy_Bps = std::numeric_limits<double>::infinity();
  std::uint64_t eager_bytes = std::numeric_limits<std::uint64_t>::max();  // longer messages wait for their receive
  std::uint64_t joint_bytes = 64 * 1024;                                  // see Mover::processors
  double handshake_s = 0;                                                 // what that costs, beyond the waiting
  std::uint64_t chunk_bytes = 256 * 1024;                                 // Problem::chunk_bytes

  int ranks() const noexcept { return nodes * ranks_per_node; }
  /// Of a message alone between two ranks of a node whose processors copy it.
  double copied_s(std::uint64_t bytes) const noexcept;
};

/// Throws Error(invalid_argument) that names the first member that makes no sense.
void check(const Cluster& cluster);

/// Known wires by name: what the field measures, not what the standard promises. docs/simulator.md has the sources.
struct KnownWire {
  std::string_view name;
  Wire wire;
  std::string_view about;
};
const std::vector<KnownWire>& known_inside();   // nvlink3, nvlink4, pcie4, pcie5, memory
const std::vector<KnownWire>& known_network();  // edr, hdr, ndr, xdr, roce25 ... roce400
/// The one of that name in the list; nullptr if there is none.
const KnownWire* find(const std::vector<KnownWire>& list, std::string_view name) noexcept;

}  // namespace godwit::collectives::simulator
