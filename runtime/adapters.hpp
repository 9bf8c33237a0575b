// The RDMA adapters of this host, and which ports Godwit would use: what `godwit ibstat` shows. Needs no context.
// Threads: any. Opens every adapter for a moment.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "verbs/facts.hpp"

namespace godwit::runtime {

struct PortUse {
  bool used = false;
  std::optional<unsigned> gid_index;
  std::string reason;              // why it is used, or why not; empty if Adapters::problem is not
  std::optional<unsigned> rail{};  // its number among those used, if there are several
};

struct Adapter {
  verbs::DeviceFacts facts;
  std::vector<PortUse> uses;  // of facts.ports
};

struct Adapters {
  std::vector<Adapter> adapters;      // in the order of their names
  std::vector<std::string> warnings;  // what a job would log
  std::string problem;                // with which a job would end: an option that does not fit the adapters
};

/// With the options of the environment. What cannot be asked goes to the log. Throws Error(invalid_argument) for bad
/// options.
Adapters find_adapters();

}  // namespace godwit::runtime
