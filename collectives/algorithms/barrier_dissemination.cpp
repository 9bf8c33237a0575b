// Dissemination barrier: in round k every rank signals the one 2^k ahead. D. Hensgen, R. Finkel, U. Manber: "Two
// algorithms for barrier synchronization", Int. J. Parallel Programming 17 (1988).
// Cost: ceil(log2 n) rounds, one empty message per rank in each.
#include "collectives/algorithm.hpp"

namespace godwit::collectives {
namespace {

void build_barrier(ScheduleBuilder& b) {
  const int n = b.size();
  StepIndex sent = 0, heard = 0;
  for (int distance = 1; distance < n; distance *= 2) {
    const Rank to = (b.rank() + distance) % n, from = (b.rank() + n - distance) % n;
    // What was heard so far goes on: the send before waited for what was heard before it.
    sent = distance == 1 ? b.send(to, b.output(), 0) : b.send(to, b.output(), 0, {sent, heard});
    heard = b.recv(from, b.output(), 0);
  }
}

Cost cost_barrier(const Problem& problem) noexcept {
  const Terms t(problem);
  return {.rounds = t.rounds, .messages = t.rounds};
}

}  // namespace

extern const Algorithm barrier_dissemination{"dissemination", "",           Collective::barrier,
                                             always,          cost_barrier, build_barrier};

}  // namespace godwit::collectives
