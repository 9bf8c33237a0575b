// What the ranks of a benchmark decide together: errors that concern all, and who writes the report.
#pragma once

#include "common/job.hpp"
#include "common/memory.hpp"
#include "common/report.hpp"

#include <godwit/context.hpp>

#include <memory>
#include <string>

namespace godwit::apps {

/// Collective, for an error that all ranks have found: rank 0 prints it, and none leaves (and makes the launcher end
/// the job) before that. Throws Reported.
[[noreturn]] void fail_together(Communicator& communicator, int exit_status, const std::string& text);

/// Collective. Rank 0 opens the file of -J, the others get null. fail_together() if it cannot.
std::unique_ptr<ReportFile> open_report(Communicator& communicator, const std::string& path);

/// Collective. plan_memory() on the host that has least; fail_together() if nothing fits.
MemoryPlan plan_memory_together(Communicator& communicator, const std::vector<Seat>& seats, std::size_t first,
                                std::size_t last, std::size_t buffers = 2);

}  // namespace godwit::apps
