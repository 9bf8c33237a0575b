#include "collectives/phases.hpp"

#include <boost/range/adaptor/reversed.hpp>

#include <algorithm>

namespace godwit::collectives {

Blocks equal_parts(const ScheduleBuilder& b) {
  return [count = b.count(), size = b.size()](int j) { return part(count, size, j); };
}

// The problem outlives the builder, and whoever asks for blocks.
Blocks input_blocks(const ScheduleBuilder& b) {
  return [&problem = b.problem()](int j) { return problem.input_block(j); };
}

Blocks output_blocks(const ScheduleBuilder& b) {
  return [&problem = b.problem()](int j) { return problem.output_block(j); };
}

int relative(const ScheduleBuilder& b, Rank root) noexcept { return (b.rank() - root + b.size()) % b.size(); }

Rank absolute(const ScheduleBuilder& b, int relative_rank, Rank root) noexcept {
  return (relative_rank + root) % b.size();
}

BinomialNode binomial_node(int relative_rank, int size) {
  BinomialNode node;
  int bit = 1;
  for (; bit < size && (relative_rank & bit) == 0; bit *= 2)
    if (relative_rank + bit < size) node.children.push_back(relative_rank + bit);
  if (relative_rank != 0) node.parent = relative_rank - bit;
  node.span = std::min(bit, size - relative_rank);
  return node;
}

void for_each_run(const ScheduleBuilder& b, Rank root, int first, int span,
                  const std::function<void(int, int)>& visit) {
  const int before_wrap = std::clamp(b.size() - root - first, 0, span);
  if (before_wrap > 0) visit(first, before_wrap);
  if (before_wrap < span) visit(first + before_wrap, span - before_wrap);
}

void Ring::prepare(ScheduleBuilder& b) {
  for (int j = 0; j < team_.size(); ++j) longest_ = std::max(longest_, blocks_(j).size());
  // Partial results wait for their onward journey in two blocks by turns. One would not do: its reuse would wait
  // for the right neighbour, which waits for its own, all around the ring.
  if (team_.size() > 2) turns_ = b.scratch(2 * longest_);
}

void Ring::reduce_scatter(ScheduleBuilder& b, int step, Place source, Place target) const {
  const Range out = block(-step - 1), in = block(-step - 2);
  b.send_chunks(right(), step == 0 ? source + out.begin : partial(step - 1), out.size());
  if (step == steps() - 1) {
    b.recv_reduce(left(), source + in.begin, target, in.size(), Order::mine_last);
    return;
  }
  for_each_chunk(b.problem(), in.size(), [&](std::uint64_t offset, std::uint64_t count) {
    const Place piece = partial(step) + offset;
    b.recv(left(), piece, count);
    b.reduce(piece, source + in.begin + offset, piece, count);
  });
}

void Ring::allgather(ScheduleBuilder& b, int step, Place base) const {
  const Range out = block(-step), in = block(-step - 1);
  b.send_chunks(right(), base + out.begin, out.size());
  b.recv_chunks(left(), base + in.begin, in.size());
}

void ring_reduce_scatter(ScheduleBuilder& b, Place source, Place target, const Blocks& blocks) {
  Ring ring(everybody(b), blocks);
  ring.prepare(b);
  for (int step = 0; step < ring.steps(); ++step) ring.reduce_scatter(b, step, source, target);
  if (ring.steps() == 0) b.copy(source + blocks(0).begin, target, blocks(0).size());
}

void ring_allgather(ScheduleBuilder& b, Place base, const Blocks& blocks) {
  const Ring ring(everybody(b), blocks);
  for (int step = 0; step < ring.steps(); ++step) ring.allgather(b, step, base);
}

void binomial_reduce(ScheduleBuilder& b, Rank root, Place source, Place accumulator) {
  const BinomialNode node = binomial_node(relative(b, root), b.size());
  Place current = source;
  for (int child : node.children) {
    b.recv_reduce(absolute(b, child, root), current, accumulator, b.count(), Order::mine_first);
    current = accumulator;
  }
  if (node.parent >= 0)
    b.send_chunks(absolute(b, node.parent, root), current, b.count());
  else if (node.children.empty())
    b.copy(source, accumulator, b.count());
}

void binomial_broadcast(ScheduleBuilder& b, Rank root, Place place) {
  const BinomialNode node = binomial_node(relative(b, root), b.size());
  for_each_chunk(b.problem(), b.count(), [&](std::uint64_t offset, std::uint64_t count) {
    if (node.parent >= 0) b.recv(absolute(b, node.parent, root), place + offset, count);
    for (const int child : node.children | boost::adaptors::reversed)  // longest way first
      b.send(absolute(b, child, root), place + offset, count);
  });
}

}  // namespace godwit::collectives
