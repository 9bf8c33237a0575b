// Pipelined chain broadcast: root, root + 1, ... pass the chunks on. Every rank sends the vector once.
// J. Watts, R. van de Geijn: "A pipelined broadcast for multidimensional meshes", Parallel Proc. Letters 5 (1995).
// Cost: n - 1 rounds until the last rank has the first chunk; the vector and n - 2 chunks go one after the other.
#include "collectives/algorithm.hpp"
#include "collectives/phases.hpp"

namespace godwit::collectives {
namespace {

void build_chain(ScheduleBuilder& b) {
  const Rank root = b.problem().root;
  const int place = relative(b, root);
  if (place == 0) b.copy(b.input(), b.output(), b.count());
  for_each_chunk(b.problem(), b.count(), [&](std::uint64_t offset, std::uint64_t count) {
    if (place > 0) b.recv(absolute(b, place - 1, root), b.output(offset), count);
    if (place + 1 < b.size()) b.send(absolute(b, place + 1, root), b.output(offset), count);
  });
}

}  // namespace

extern const Algorithm broadcast_chain{"chain", "ring", Collective::broadcast, always, cost_of_chain, build_chain};

}  // namespace godwit::collectives
