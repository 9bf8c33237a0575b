// One benchmark at one size on one rank: where its data lies, what goes in, and what has to come out. Pure.
#pragma once

#include "common/pattern.hpp"
#include "common/shape.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace godwit::apps {

/// What is measured, the same on every rank.
struct Case {
  Benchmark benchmark = Benchmark::all_reduce;
  std::size_t bytes = 0;  // the larger buffer
  DataType type = DataType::float32;
  ReduceOp op = ReduceOp::sum;
  Rank root = 0;
  bool in_place = false;

  Shape shape(int ranks) const noexcept {
    return shape_of(benchmark, bytes, size_of(type), static_cast<std::size_t>(ranks));
  }
};

struct Operands {
  std::byte* send = nullptr;
  std::byte* recv = nullptr;
};

/// Places the operands in two buffers, each as large as the larger operand. In place both lie in one of them.
Operands place(const Case& what, int rank, int ranks, std::byte* send_buffer, std::byte* recv_buffer);

/// The call of a case. Of sendrecv, which is no collective, only the buffers mean something.
CollectiveCall call_of(const Case& what, int ranks, const Operands& operands);

/// Writes the input of this rank, and rubbish where results will be. `seed` makes runs differ.
void write_input(const Case& what, int rank, int ranks, std::uint64_t seed, const Operands& operands);

/// Counts elements of this rank's result that are wrong. A rank without a result has none.
std::size_t count_wrong(const Case& what, int rank, int ranks, std::uint64_t seed, const Operands& operands);

/// Fills input and result with the neutral element, so that a thousand repetitions in place neither overflow nor
/// drift into slow numbers.
void write_neutral(const Case& what, int ranks, const Operands& operands);

}  // namespace godwit::apps
