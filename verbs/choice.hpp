// Which ports a process uses, and how: pure functions over facts and options. Threads: any.
//
// Ports that are active, allowed by GODWIT_IB_HCA and (RoCE) have a GID. Those much slower than the fastest are left
// out; of the rest the nearest to the process come first, then the faster; the first and up to three more of its rate.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verbs/facts.hpp"
#include "verbs/options.hpp"
#include "verbs/placement.hpp"

namespace godwit::verbs {

inline constexpr std::size_t most_rails = 4;

struct PortChoice {
  std::size_t device = 0;  // position among the facts
  unsigned port = 1;
  unsigned rail = 0;  // position among this host's usable ports in the order of names: the same for all its processes
  unsigned distance = 0;        // from this process, as the firmware tells
  std::optional<GidEntry> gid;  // nothing: InfiniBand by LID alone. iWARP: only its net_device means something
  std::vector<GidEntry> gids;   // the best of each kind, `gid` first: for a peer that lacks the kind of `gid`
  unsigned mtu = 0;             // bytes: the port's, or less by GODWIT_IB_MTU
  std::string reason;           // "nearest to this process (NUMA node 1); GID index 3, ...: RoCE v2 ... comes first"
};

/// A port that is not used, and why: "Down, physically Polling".
struct PortLeftOut {
  std::size_t device = 0;  // position among the facts
  unsigned port = 1;
  std::string reason;
  std::string line;  // "mlx5_1 port 1: Down, physically Polling"
};
std::string left_out_text(std::span<const PortLeftOut> ports);  // the lines, with semicolons between

struct PortChoices {
  std::vector<PortChoice> ports;  // best first
  std::vector<PortLeftOut> left_out;
  std::vector<std::string> warnings;
};

/// No port at all with GODWIT_IB_DISABLE. Throws Error(invalid_argument) when GODWIT_IB_HCA matches none of the ports
/// that there are, or GODWIT_IB_GID_INDEX or _PKEY names an empty slot of a port that is to be used: the text lists
/// what there is.
PortChoices choose_ports(std::span<const DeviceFacts> devices, const VerbsOptions& options, const Placement& here);

/// How many of the ports, from the first one on, are in use at a time: all of one protocol and link layer. One where
/// queue pairs are connected by rdma_cm.
std::size_t rails_in_use(std::span<const DeviceFacts> devices, std::span<const PortChoice> ports,
                         const VerbsOptions& options);
/// Queue pairs of this device are connected by rdma_cm. Throws Error(invalid_argument) where that cannot be switched
/// off.
bool connects_by_rdma_cm(const VerbsOptions& options, Protocol protocol);

std::string port_name(const DeviceFacts& device, unsigned port);  // "mlx5_0 port 1"

/// MTU of a connection: the smaller one. `warning` when the ends differ, named by `local_name` and `remote_name`.
struct MtuChoice {
  unsigned mtu = 0;
  std::string warning;
};
MtuChoice agree_mtu(unsigned local, unsigned remote, std::string_view local_name, std::string_view remote_name);

}  // namespace godwit::verbs
