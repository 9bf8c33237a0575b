// What the ranks of a benchmark decide together: errors that concern all, and how much memory each may use.
#pragma once

#include "common/job.hpp"
#include "common/memory.hpp"

#include <godwit/context.hpp>

#include <string>

namespace godwit::apps {

/// Collective, for an error that all ranks have found: rank 0 prints it, and none leaves (and makes the launcher end
/// the job) before that. Throws Reported.
[[noreturn]] void fail_together(Communicator& communicator, int exit_status, const std::string& text);

/// Collective. plan_memory() on the host that has least; fail_together() if nothing fits.
MemoryPlan plan_memory_together(Communicator& communicator, const std::vector<Seat>& seats, std::size_t first,
                                std::size_t last, std::size_t buffers = 2, const SizeFlags& flags = {});

}  // namespace godwit::apps
