// The run of `godwit perf` in perftest's form: two ranks, one size after the other, perftest's loops and table.
#pragma once

#include "common/run_report.hpp"
#include "tool/perf/options.hpp"

#include <godwit/context.hpp>

namespace godwit::apps {

/// How the two ranks appear in the output.
struct PerftestSides {
  std::string origin = "rank 0", target = "rank 1";
  bool both_print = false;  // each on a terminal of its own
};

/// Collective over `world`: rank 0 measures against rank 1, others wait. `files` of a rank that writes none is null.
/// Returns the exit status: 0, or 1 when data was wrong. Throws Error and Reported.
int run_perftest(Context& context, Communicator world, const PerfOptions& options, const PerftestSides& sides,
                 RunReport* files);

}  // namespace godwit::apps
