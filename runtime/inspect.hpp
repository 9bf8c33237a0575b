// What `godwit info` and the benchmarks show of a running context, as plain text and values.
// Threads: as the Context or Communicator that is passed. Not for the hot path.
#pragma once

#include <godwit/context.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace godwit::runtime {

struct TransportReport {
  std::string name;
  bool available = false;
  std::string reason;  // available: what it found ("memfd, cross-memory attach"); else why it cannot be used
};

/// What this build contains, one fact a line: transports, bootstraps, compiler, build type.
/// "transports  self, shm\nbootstraps  PMIx 4.2.2, torchrun (TCP store), threads\ncompiler    GCC 12.2.0 ...\n"
std::string compiled_in();

/// Every transport of the build in order of preference, those not in use included.
std::vector<TransportReport> transports(const Context& context);

/// The name of the transport that serves `peer` ("self", "shm"); connects if need be. Throws
/// Error(unreachable) that lists why each transport does not reach it, Error(invalid_argument) for a wrong rank.
std::string transport_name_to(const Communicator& communicator, Rank peer);

/// Which protocol serves which operation and size range towards `peer`, and why; connects if need be.
std::string protocol_table(const Communicator& communicator, Rank peer);

/// One row of that: `operation` ("send", "active message", "put", ...) from the size after the row before up to
/// `upto` bytes, which is SIZE_MAX at the end. `reachable`: the peer's memory is, as windows and regions of local peers
/// are.
struct ProtocolRange {
  std::string operation;
  bool reachable = false;
  std::size_t upto = 0;
  std::string protocol;
};
std::vector<ProtocolRange> protocol_ranges(const Communicator& communicator, Rank peer);

/// Which algorithm serves which collective and size range in this communicator, with the estimated times.
std::string collective_table(const Communicator& communicator);

/// Algorithms that serve a call here, by name, on all ranks alike; none where flags in shared memory do. Throws
/// Error(invalid_argument) as the call would.
std::vector<std::string> algorithms_for(const Communicator& communicator, const CollectiveCall& call);
/// Before the communicator's first collective, on all its ranks: `rules`, in the grammar of GODWIT_ALGO, say which
/// algorithms serve it. Throws Error(invalid_argument).
void allow_algorithms(const Communicator& communicator, std::string_view rules);

/// How the ranks of a communicator are spread: `ranks_per_node` of the fullest node.
struct Spread {
  int ranks = 1, nodes = 1, ranks_per_node = 1;
};
Spread spread(const Communicator& communicator);

/// All options of the build: name, type, default, help. Needs no context, so that it also helps when a bad
/// option is what keeps a context from starting.
std::string option_table();
/// The same as the page docs/options.md.
std::string options_markdown();

}  // namespace godwit::runtime
