// Element-wise reductions on host memory. Pure; any thread. Pointers need no alignment. The loops are compiled for
// several instruction sets, the best that the CPU has is picked once.
//
// Meaning of the operations:
//   integers   wrap modulo 2^bits; avg is the wrapped sum divided by the number of ranks, truncated toward zero.
//   half, bfloat16   each operation in float32, rounded to nearest even after it.
//   min, max of floating types   NaN if either is NaN (payload unspecified); which zero of -0 and +0 is unspecified.
#pragma once

#include <godwit/types.hpp>

#include <cstddef>
#include <string_view>

namespace godwit::collectives {

/// out[i] = left[i] op right[i]. `out` may be `left` or `right`; other overlaps are not allowed. avg adds: scale() ends
/// it.
void reduce(DataType type, ReduceOp op, const void* left, const void* right, void* out, std::size_t count) noexcept;

/// inout[i] = inout[i] op in[i].
inline void reduce(DataType type, ReduceOp op, const void* in, void* inout, std::size_t count) noexcept {
  reduce(type, op, inout, in, inout, count);
}

/// inout[i] = inout[i] / ranks: the end of an average.
void scale(DataType type, void* inout, std::size_t count, int ranks) noexcept;

/// Instruction set in use: "avx512", "avx2" or "baseline".
const char* reduction_instructions() noexcept;
/// For tests: takes another one; false if the CPU lacks it. Not while a reduction runs.
bool use_reduction_instructions(std::string_view name) noexcept;

}  // namespace godwit::collectives
