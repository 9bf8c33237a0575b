// The run of `godwit perf` in our own form: pairs, sizes, clock, table, report.
#pragma once

#include "tool/perf/options.hpp"

#include <godwit/context.hpp>

namespace godwit::apps {

/// Collective over `world`, which has at least two ranks. Returns the exit status: 0, or 1 when data was wrong. Throws
/// Error and UsageError.
int run_perf(Context& context, Communicator world, const PerfOptions& options);

}  // namespace godwit::apps
