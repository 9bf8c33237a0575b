// What the bootstraps need to know beyond the launcher's variables.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace godwit::pmi {

struct BootstrapSettings {
  double deadline_s = 60;               // for all ranks to come up
  std::string secret;                   // of the TCP store: ranks with another one are refused; empty: none
  std::optional<std::uint16_t> port;    // of the TCP store; nothing: derived from MASTER_PORT
  std::vector<std::string> interfaces;  // where the TCP store listens: see interfaces.hpp; empty: everywhere
};

/// Variables of an environment by name. An empty value counts as not set.
using Variables = std::map<std::string, std::string>;

}  // namespace godwit::pmi
