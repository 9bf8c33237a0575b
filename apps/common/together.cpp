#include "common/together.hpp"

#include "common/usage.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace godwit::apps {

void fail_together(Communicator& communicator, int exit_status, const std::string& text) {
  if (communicator.rank() == 0) {
    fmt::print(stderr, "godwit: {}\n", text);
    std::fflush(stderr);
  }
  communicator.barrier();
  throw Reported(exit_status, text);
}

MemoryPlan plan_memory_together(Communicator& communicator, const std::vector<Seat>& seats, std::size_t first,
                                std::size_t last, std::size_t buffers, const SizeFlags& flags) {
  std::uint64_t per_rank = available_memory() / ranks_beside(seats, communicator.rank());
  communicator.allreduce(per_rank, min);
  try {
    return plan_memory(first, last, buffers, per_rank, flags);
  } catch (const Error& error) {
    fail_together(communicator, 1, error.what());
  }
}

}  // namespace godwit::apps
