// The atomics of one-sided operations on memory of this host. Threads: any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/transport.hpp"

namespace godwit::core {

/// fetch_add or compare_swap on the word at `target`, which is aligned to its 8 bytes. Returns the value before.
inline std::uint64_t execute_atomic(Op op, std::byte* target, std::uint64_t operand, std::uint64_t compare) noexcept {
  const std::atomic_ref word(*reinterpret_cast<std::uint64_t*>(target));
  if (op == Op::fetch_add) return word.fetch_add(operand);
  std::uint64_t before = compare;
  word.compare_exchange_strong(before, operand);
  return before;
}

}  // namespace godwit::core
