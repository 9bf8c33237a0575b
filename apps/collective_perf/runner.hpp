// The whole run of a *_perf program: heading, sweep, footer, report.
#pragma once

#include "collective_perf/options.hpp"

#include <godwit/context.hpp>

namespace godwit::apps {

/// Collective. Returns the exit status: 0, or 1 when a result was wrong. Throws Error and UsageError.
int run_collective_benchmark(Context& context, Benchmark benchmark, CollectiveOptions options);

}  // namespace godwit::apps
