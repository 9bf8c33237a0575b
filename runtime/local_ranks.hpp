// Ranks as threads of one process, for tests and demonstrations: real transports, no launcher.
#pragma once

#include <godwit/context.hpp>

#include <functional>

namespace godwit::runtime {

/// Runs `body` in `size` threads, each with its own context; returns when all have ended. Rethrows the first
/// exception (by rank); a rank that throws aborts the world communicator, so that the others end too.
void run_local_ranks(int size, const std::function<void(Context&)>& body, const ContextOptions& options = {});

}  // namespace godwit::runtime
