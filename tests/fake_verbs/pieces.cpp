#include "fake_verbs/pieces.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace godwit::fake_verbs {
namespace {

/// As adapters do it: in order, and an aligned word at the end at once, so that who polls for it sees all before it.
void place(std::byte* to, const std::byte* from, std::size_t bytes) {
  const auto end = reinterpret_cast<std::uintptr_t>(to + bytes);
  if (bytes >= 8 && end % 8 == 0) {
    std::memcpy(to, from, bytes - 8);
    std::uint64_t last = 0;
    std::memcpy(&last, from + bytes - 8, 8);
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(end - 8)).store(last, std::memory_order_release);
  } else if (bytes == 4 && end % 4 == 0) {
    std::uint32_t word = 0;
    std::memcpy(&word, from, 4);
    std::atomic_ref(*reinterpret_cast<std::uint32_t*>(to)).store(word, std::memory_order_release);
  } else {
    std::memcpy(to, from, bytes - 1);
    std::atomic_ref(to[bytes - 1]).store(from[bytes - 1], std::memory_order_release);
  }
}

}  // namespace

void copy(const Pieces& from, const Pieces& to) {
  unsigned target = 0;
  std::size_t offset = 0;  // in the target
  for (unsigned i = 0; i < from.count; ++i) {
    const std::byte* source = from.pieces[i].data;
    std::size_t left = from.pieces[i].bytes;
    while (left > 0) {
      const Pieces::Piece& piece = to.pieces[target];
      const std::size_t bytes = std::min(left, piece.bytes - offset);
      place(piece.data + offset, source, bytes);
      source += bytes;
      left -= bytes;
      offset += bytes;
      if (offset == piece.bytes) {
        ++target;
        offset = 0;
      }
    }
  }
}

}  // namespace godwit::fake_verbs
