// A verbs transport's PackedKey.
#pragma once

#include "core/transport.hpp"
#include "verbs/wire.hpp"

#include <cstdint>
#include <cstring>
#include <optional>

namespace godwit::verbs {

struct Key {
  std::uint8_t version = protocol_version;
  std::uint8_t pad[3] = {};
  std::uint32_t rkeys[most_rails_in_use] = {};  // by rail

  core::PackedKey pack() const noexcept {
    core::PackedKey packed;
    std::memcpy(packed.bytes.data(), this, sizeof *this);
    return packed;
  }
  static std::optional<Key> unpack(const core::PackedKey& packed) noexcept {
    Key key;
    std::memcpy(&key, packed.bytes.data(), sizeof key);
    return key.version == protocol_version ? std::optional(key) : std::nullopt;
  }
};
static_assert(sizeof(Key) <= sizeof(core::PackedKey::bytes));

}  // namespace godwit::verbs
