// torchrun's variables, checked, as the TCP store wants them. Pure.
#pragma once

#include "pmi/settings.hpp"

#include <godwit/types.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace godwit::pmi {

/// How errors speak of the store and of who joins it.
struct StoreWords {
  std::string via = "torchrun environment";  // JobInfo::via
  std::string host;                          // "MASTER_ADDR=node0"
  std::string join_failed;                   // "rank 3 could not join the TCP store of rank 0"
  std::string join_advice;                   // "Is rank 0 running, ...?"
  std::string listen_failed;                 // "rank 0 cannot open the TCP store of this job"
  std::string listen_advice;                 // "Set MASTER_PORT, ..."
  std::string twice_advice;                  // "is RANK set twice, ...?"
};

struct StoreConfig {
  Rank rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 0;                // 0: not said
  int node_count = 0;                // 0: not said
  std::string host;                  // where rank 0 runs, as the ranks write it
  std::uint64_t job = 0;             // hash of what the ranks of one job have in common and others have not
  std::vector<std::uint16_t> ports;  // where the store may be, in the order that rank 0 tries; same on all ranks
  StoreWords words = {};
};

/// RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT (29500 if not set), LOCAL_RANK, LOCAL_WORLD_SIZE and what the
/// agent of torchrun adds. Throws Error(bootstrap) that names the variable that is missing or wrong.
///
/// Ports: `settings.port` alone if set. Else MASTER_PORT, unless an agent of torchrun runs (it listens there
/// itself), then some ports derived from MASTER_PORT and the run, in case it is taken.
StoreConfig store_config(const Variables& variables, const BootstrapSettings& settings);

}  // namespace godwit::pmi
