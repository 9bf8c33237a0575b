// What `godwit ibstat` prints, in the shape of ibstat(8), and as JSON. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

#include "runtime/adapters.hpp"

namespace godwit::apps {

/// "100 (4X EDR)", "25 (25GbE)", "0": in Gb/s.
std::string rate_text(const verbs::PortFacts& port);
/// All lines of one adapter, with newlines. `number` 0: all ports.
std::string ibstat_text(const runtime::Adapter& adapter, unsigned number = 0);
/// Keys as in ibstat_text; rates in Gb/s, sizes in bytes.
nlohmann::json ibstat_json(const runtime::Adapter& adapter, unsigned number = 0);

}  // namespace godwit::apps
