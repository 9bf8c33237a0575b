// What a PackedKey of this transport holds, and the handles that endpoints make of it.
#pragma once

#include "core/transport.hpp"

#include <cstdint>
#include <cstring>

namespace godwit::shm {

enum class KeyKind : std::uint32_t { segment = 0x53484d53, private_memory = 0x53484d50 };

struct Key {
  KeyKind kind = KeyKind::private_memory;
  std::uint32_t reserved = 0;
  std::uint64_t segment = 0;  // segment: identifier at the owner
  std::uint64_t base = 0;     // segment: its address at the owner
  std::uint64_t size = 0;     // segment: its bytes

  core::PackedKey pack() const noexcept {
    core::PackedKey packed;
    std::memcpy(packed.bytes.data(), this, sizeof(*this));
    return packed;
  }
  static Key unpack(const core::PackedKey& packed) noexcept {
    Key key;
    std::memcpy(&key, packed.bytes.data(), sizeof(key));
    return key;
  }
};
static_assert(sizeof(Key) <= sizeof(core::PackedKey::bytes));

/// Handle of private memory: bit 0 is set, there are no atomics. Others: index of the imported segment * 2.
inline constexpr std::uint64_t private_handle = 1;

}  // namespace godwit::shm
