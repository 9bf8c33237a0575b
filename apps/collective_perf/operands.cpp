#include "collective_perf/operands.hpp"

#include <cstring>

namespace godwit::apps {

namespace {

constexpr int rubbish = 0x5b;

bool has_input(const Case& what, int rank) {
  const bool only_root = what.benchmark == Benchmark::broadcast || what.benchmark == Benchmark::scatter;
  return !only_root || rank == what.root;
}

bool has_result(const Case& what, int rank) {
  const bool only_root = what.benchmark == Benchmark::reduce || what.benchmark == Benchmark::gather;
  return !only_root || rank == what.root;
}

/// A part of the result: `count` elements at `at`, which are those of `pattern` from `first` on.
struct Part {
  Pattern pattern;
  std::size_t first, at, count;
};

std::vector<Part> expected_parts(const Case& what, int rank, int ranks, std::uint64_t seed) {
  const Shape shape = what.shape(ranks);
  const std::size_t mine = static_cast<std::size_t>(rank) * shape.count;
  const auto moved = [&](int from) { return Pattern::moved(what.type, seed, from); };
  std::vector<Part> parts;
  switch (what.benchmark) {
    case Benchmark::all_reduce:
    case Benchmark::reduce: return {{Pattern::reduced(what.type, what.op, seed, ranks), 0, 0, shape.count}};
    case Benchmark::reduce_scatter: return {{Pattern::reduced(what.type, what.op, seed, ranks), mine, 0, shape.count}};
    case Benchmark::broadcast: return {{moved(what.root), 0, 0, shape.count}};
    case Benchmark::scatter: return {{moved(what.root), mine, 0, shape.count}};
    case Benchmark::scan: return {{Pattern::reduced(what.type, what.op, seed, ranks, rank + 1), 0, 0, shape.count}};
    case Benchmark::exscan:
      if (rank == 0) return {};
      return {{Pattern::reduced(what.type, what.op, seed, ranks, rank), 0, 0, shape.count}};
    case Benchmark::sendrecv: return {{moved((rank + ranks - 1) % ranks), 0, 0, shape.count}};
    case Benchmark::all_gather:
    case Benchmark::gather:
    case Benchmark::alltoall: break;
  }
  const std::size_t first = what.benchmark == Benchmark::alltoall ? mine : 0;
  for (int from = 0; from < ranks; ++from)
    parts.push_back({moved(from), first, static_cast<std::size_t>(from) * shape.count, shape.count});
  return parts;
}

}  // namespace

Operands place(const Case& what, int rank, int ranks, std::byte* send_buffer, std::byte* recv_buffer) {
  if (!what.in_place) return {.send = send_buffer, .recv = recv_buffer};
  const Shape shape = what.shape(ranks);
  const std::size_t width = size_of(what.type) * static_cast<std::size_t>(rank);
  if (shape.recv_index > 0) return {.send = send_buffer, .recv = send_buffer + shape.recv_index * width};
  return {.send = recv_buffer + shape.send_index * width, .recv = recv_buffer};
}

CollectiveCall call_of(const Case& what, int ranks, const Operands& operands) {
  return {.collective = collective_of(what.benchmark).value_or(Collective::barrier),
          .send = operands.send,
          .recv = operands.recv,
          .count = what.shape(ranks).count,
          .type = what.type,
          .op = what.op,
          .root = what.root};
}

void write_input(const Case& what, int rank, int ranks, std::uint64_t seed, const Operands& operands) {
  const Shape shape = what.shape(ranks);
  std::memset(operands.recv, rubbish, shape.recv * size_of(what.type));
  if (!has_input(what, rank)) return;
  const Pattern pattern = has_reduction(what.benchmark) ? Pattern::contribution(what.type, what.op, seed, rank, ranks)
                                                        : Pattern::moved(what.type, seed, rank);
  pattern.fill(operands.send, shape.send);
}

std::size_t count_wrong(const Case& what, int rank, int ranks, std::uint64_t seed, const Operands& operands) {
  if (!has_result(what, rank)) return 0;
  std::size_t wrong = 0;
  for (const Part& part : expected_parts(what, rank, ranks, seed))
    wrong += part.pattern.count_wrong(operands.recv + part.at * size_of(what.type), part.count, part.first);
  return wrong;
}

void write_neutral(const Case& what, int ranks, const Operands& operands) {
  const Shape shape = what.shape(ranks);
  const std::size_t width = size_of(what.type);
  std::memset(operands.recv, 0, shape.recv * width);
  std::memset(operands.send, 0, shape.send * width);
  if (has_reduction(what.benchmark) && what.op == ReduceOp::prod)
    Pattern::constant(what.type, 1).fill(operands.send, shape.send);
}

}  // namespace godwit::apps
