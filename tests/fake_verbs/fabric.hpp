// RDMA adapters in memory: hosts, devices, processes, and the wires between them, all inside the test's process.
//
//   Fabric fabric;
//   fabric.add_host("node0", {infiniband_device("mlx5_0", 1)});
//   fabric.add_host("node1", {infiniband_device("mlx5_0", 2)});
//   Process &a = fabric.add_process("node0"), &b = fabric.add_process("node1");   // both are a verbs::Api
//
// A request is executed while it is posted, unless it is held: then the test releases requests and their
// acknowledgements one at a time. Threads: any, one lock. The fabric outlives everything made from it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fake_verbs/process.hpp"
#include "fake_verbs/setup.hpp"

namespace godwit::fake_verbs {

struct World;

struct PortName {
  std::string host, device;
  unsigned port = 1;
};

/// What of a request waits for the test.
enum class Hold : std::uint8_t {
  nothing,
  acknowledgements,  // the peer has it at once, the sender's completion waits
  everything,
};

/// One thing that may happen next on a queue pair.
struct Pending {
  std::uint32_t pair = 0;        // qp_num of the requester
  bool acknowledgement = false;  // of a request that the peer has already
  ibv_wr_opcode opcode = IBV_WR_SEND;
  std::uint64_t wr_id = 0;
};

class Fabric {
 public:
  Fabric();
  ~Fabric();
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  /// Throws std::invalid_argument for a host that exists and for facts that no device can have.
  void add_host(std::string name, std::vector<DeviceSetup> devices);
  /// What Api::net_interfaces() tells the processes of a host; at first nothing.
  void set_net_interfaces(std::string_view host, std::vector<verbs::NetInterface> interfaces);
  Process& add_process(std::string_view host);

  // Delivery by hand.
  void hold(Hold what);                      // all queue pairs, later ones too; nothing: what waits goes on, in order
  void hold(std::uint32_t pair, Hold what);  // one
  std::vector<Pending> pending() const;      // oldest first
  bool step();                               // the oldest that can happen; false: none
  bool step(std::mt19937& random);           // any that can happen
  bool deliver(std::uint32_t pair);          // the next request of this queue pair reaches its peer
  bool acknowledge(std::uint32_t pair);      // its oldest delivered request completes
  std::size_t run();                         // steps until none is left: their number

  // Trouble.
  /// The oldest request without acknowledgement is given up: IBV_WC_RETRY_EXC_ERR. Lost was the request, or its
  /// acknowledgement where the peer had it. False: the queue pair has none.
  bool time_out(std::uint32_t pair);
  /// True: requests to a dead peer or over a dead path wait for time_out() or for the path; false (at first): they fail
  /// at once.
  void manual_time_outs(bool manual);
  /// How long the destruction of an object waits for events that were got to be acknowledged (libibverbs: for ever)
  /// before it is a defect. At first 10 s.
  void set_patience(std::chrono::milliseconds patience);
  void set_port(const PortName& port, bool up);  // with IBV_EVENT_PORT_ERR, IBV_EVENT_PORT_ACTIVE
  void set_gids(const PortName& port, std::vector<verbs::GidEntry> gids);  // with IBV_EVENT_GID_CHANGE
  void set_path(const PortName& one, const PortName& other, bool up);      // no event
  void remove_device(std::string_view host, std::string_view device);      // IBV_EVENT_DEVICE_FATAL, all flushed
  void fail_pair(std::uint32_t pair);                                      // IBV_EVENT_QP_FATAL, all flushed
  void fail_queue(ibv_cq* queue);                                          // IBV_EVENT_CQ_ERR
  /// The process is gone without a word; its own calls then succeed and do nothing.
  void kill(Process& process);

  /// What rdma_cm does for iWARP: both become RTS, with this depth of reads.
  void connect_iwarp(ibv_qp* one, ibv_qp* other, std::uint8_t reads = 16);

  /// What callers did against the rules, in words; a test of a caller expects none.
  std::vector<std::string> defects() const;
  /// Of all processes that were not killed: "node0/0: queue pair 0x12 in RTS".
  std::vector<std::string> leaks() const;

 private:
  std::unique_ptr<World> world_;
};

}  // namespace godwit::fake_verbs
