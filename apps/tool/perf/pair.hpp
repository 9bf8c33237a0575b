// `godwit perf` without a launcher: a server, and a client that names it.
#pragma once

#include "tool/perf/options.hpp"

#include <map>
#include <string>

namespace godwit::apps {

/// Joins the other side, makes sure that both have been told the same, and runs the test; the client is its rank 0.
/// `set`: options of the context. Returns the exit status. Throws Error and UsageError.
int run_pair(const PerfOptions& options, const std::map<std::string, std::string>& set);

}  // namespace godwit::apps
