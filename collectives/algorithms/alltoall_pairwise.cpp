// Pairwise exchange: in round k, ranks r and (k - r) mod n exchange blocks, so that every round is a matching for any
// n. Thakur, Rabenseifner, Gropp 2005. At most `window` rounds are under way at a time. With 2 ranks it is one
// exchange. In place, blocks are received aside until their predecessors have left.
// Cost: ceil(n / window) rounds; n - 1 messages and blocks sent, one block copied (in place: all).
#include "collectives/algorithm.hpp"

#include <cmath>

namespace godwit::collectives {
namespace {

constexpr int window = 32;

void build_pairwise(ScheduleBuilder& b) {
  const int n = b.size();
  const bool aside = b.problem().in_place;
  const Place spare = aside ? b.scratch(2 * b.count()) : Place{};
  const Range mine = b.problem().input_block(b.rank());
  b.copy(b.input(mine.begin), b.output(b.problem().output_block(b.rank()).begin), mine.size());
  std::vector<StepIndex> sends, receives;
  for (int round = 0; round < n; ++round) {
    const Rank peer = (round - b.rank() + n) % n;
    if (peer == b.rank()) continue;
    const Range out = b.problem().input_block(peer), in = b.problem().output_block(peer);
    const Place into = aside ? spare + static_cast<std::uint64_t>(round % 2) * b.count() : b.output(in.begin);
    if (sends.size() < window) {
      sends.push_back(b.send(peer, b.input(out.begin), out.size()));
      receives.push_back(b.recv(peer, into, in.size()));
    } else {
      const StepIndex sent = sends[sends.size() - window], received = receives[receives.size() - window];
      sends.push_back(b.send(peer, b.input(out.begin), out.size(), {sent, received}));
      receives.push_back(b.recv(peer, into, in.size(), {sent, received}));
    }
    if (aside) b.copy(into, b.output(in.begin), in.size());
  }
}

Cost cost_pairwise(const Problem& problem) noexcept {
  const Terms t(problem);
  return at_all_distances(
      problem,
      {.rounds = std::ceil(t.others / window), .bytes = t.others * t.block, .messages = t.others, .copied = t.block});
}

}  // namespace

extern const Algorithm alltoall_pairwise{"pairwise", "", Collective::alltoall, always, cost_pairwise, build_pairwise};
extern const Algorithm alltoallv_pairwise{"pairwise", "", Collective::alltoallv, always, cost_pairwise, build_pairwise};

}  // namespace godwit::collectives
