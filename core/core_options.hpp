// The engine's options, and those of no layer in particular.
#pragma once

#include "core/log.hpp"
#include "core/options.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace godwit::core {

struct CoreOptions : OptionGroup {
  CoreOptions();

  // Log.
  Option<Choice> debug;
  Option<std::string> debug_file;

  // Engine.
  Option<std::vector<std::string>> transports;  // empty: all
  Option<Bytes> eager_limit;                    // never above eager_window
  Option<Bytes> eager_window;
  Option<Choice> wait;
  Option<Choice> atomics;
  Option<Seconds> stall_warning;  // 0: off
  Option<Choice> state_signal;

  // Collectives.
  Option<std::string> algo;                     // grammar: collectives
  Option<std::string> tune_file;                // of `godwit tune`
  Option<std::optional<Bytes>> tree_threshold;  // nothing: the cost model decides

  // Start-up.
  Option<Seconds> startup_timeout;
  Option<std::vector<std::string>> socket_ifname;  // grammar: pmi
  Option<std::int64_t> port;                       // 0: derived from MASTER_PORT
  Option<Secret> secret;
  Option<std::string> host_id;

  LogLevel log_level() const;
};

}  // namespace godwit::core
