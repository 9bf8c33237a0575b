// Linear scatter: the root sends to everybody from its own buffer.
// Cost: 1 round; the root sends n - 1 messages and blocks.
#include "collectives/algorithm.hpp"

namespace godwit::collectives {
namespace {

void build_linear(ScheduleBuilder& b) {
  const Rank root = b.problem().root;
  if (b.rank() != root) {
    b.recv(root, b.output(), b.count());
    return;
  }
  for (int distance = 1; distance < b.size(); ++distance) {
    const Rank to = (root + distance) % b.size();
    const Range block = b.problem().input_block(to);
    b.send(to, b.input(block.begin), block.size());
  }
  b.copy(b.input(b.problem().input_block(root).begin), b.output(), b.count());
}

Cost cost_linear(const Problem& problem) noexcept {
  const Terms t(problem);
  return {.rounds = t.n > 1 ? 1.0 : 0.0, .bytes = t.others * t.block, .messages = t.others};
}

}  // namespace

extern const Algorithm scatter_linear{"linear", "", Collective::scatter, always, cost_linear, build_linear};
extern const Algorithm scatterv_linear{"linear", "", Collective::scatterv, always, cost_linear, build_linear};

}  // namespace godwit::collectives
