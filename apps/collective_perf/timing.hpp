// Runs a case: repeatedly with a clock, or once with a check.
#pragma once

#include "collective_perf/operands.hpp"
#include "collective_perf/options.hpp"
#include "common/progress.hpp"
#include "common/statistics.hpp"

#include <godwit/communicator.hpp>

namespace godwit::apps {

struct Timing {
  double seconds = 0;  // one operation, averaged over the iterations; of the ranks that -a names (valid on rank 0)
  Summary latency_us;  // one operation, over the iterations of this rank; see common/batches.hpp
};

/// Collective. Warm-up, barrier, iterations.
Timing time_case(Communicator& communicator, const Case& what, const CollectiveOptions& options,
                 const Operands& operands, Progress& progress);

/// Collective. One operation on fresh data; the wrong elements of all ranks together.
std::uint64_t check_case(Communicator& communicator, const Case& what, std::uint64_t seed, const Operands& operands);

}  // namespace godwit::apps
