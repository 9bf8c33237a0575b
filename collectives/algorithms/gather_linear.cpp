// Linear gather: everybody sends to the root, which receives into place. No copy, no rank handles foreign data.
// Cost: 1 round; the root receives n - 1 messages and blocks.
#include "collectives/algorithm.hpp"

namespace godwit::collectives {
namespace {

void build_linear(ScheduleBuilder& b) {
  const Rank root = b.problem().root;
  if (b.rank() != root) {
    b.send(root, b.input(), b.count());
    return;
  }
  for (int distance = 1; distance < b.size(); ++distance) {
    const Rank from = (root + distance) % b.size();
    const Range block = b.problem().output_block(from);
    b.recv(from, b.output(block.begin), block.size());
  }
  b.copy(b.input(), b.output(b.problem().output_block(root).begin), b.count());
}

Cost cost_linear(const Problem& problem) noexcept {
  const Terms t(problem);
  return {.rounds = t.n > 1 ? 1.0 : 0.0, .bytes = t.others * t.block, .messages = t.others};
}

}  // namespace

extern const Algorithm gather_linear{"linear", "", Collective::gather, always, cost_linear, build_linear};
extern const Algorithm gatherv_linear{"linear", "", Collective::gatherv, always, cost_linear, build_linear};

}  // namespace godwit::collectives
