// memcpy without the call for what small messages carry. Regions do not overlap. Threads: any.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace godwit::core {

/// Accepts null pointers when `bytes` is 0.
inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (bytes > 64) {
    std::memcpy(to, from, bytes);
  } else if (bytes >= 32) {
    std::memcpy(to, from, 32);
    std::memcpy(to + bytes - 32, from + bytes - 32, 32);
  } else if (bytes >= 16) {
    std::memcpy(to, from, 16);
    std::memcpy(to + bytes - 16, from + bytes - 16, 16);
  } else if (bytes >= 8) {
    std::memcpy(to, from, 8);
    std::memcpy(to + bytes - 8, from + bytes - 8, 8);
  } else if (bytes >= 4) {
    std::memcpy(to, from, 4);
    std::memcpy(to + bytes - 4, from + bytes - 4, 4);
  } else {
    for (std::size_t i = 0; i < bytes; ++i) to[i] = from[i];
  }
}
inline void copy_bytes(std::byte* to, std::span<const std::byte> from) noexcept {
  copy_bytes(to, from.data(), from.size());
}

}  // namespace godwit::core
