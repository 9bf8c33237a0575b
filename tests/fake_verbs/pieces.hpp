// Scatter/gather copies between registered memory. Internal to the fake.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "fake_verbs/objects.hpp"

namespace godwit::fake_verbs {

/// Memory that takes part in a transfer, resolved from keys.
struct Pieces {
  struct Piece {
    std::byte* data;
    std::size_t bytes;
  };

  // = default would clear it where it is value-initialised.
  // NOLINTNEXTLINE(modernize-use-equals-default,cppcoreguidelines-pro-type-member-init)
  Pieces() noexcept {}

  void add(std::byte* data, std::size_t bytes) {
    if (bytes == 0) return;
    pieces[count++] = {data, bytes};
    total += bytes;
  }

  std::array<Piece, most_pieces> pieces;  // not initialised
  unsigned count = 0;
  std::size_t total = 0;
};

/// Copies from.total bytes; `to` has room for them.
void copy(const Pieces& from, const Pieces& to);

}  // namespace godwit::fake_verbs
