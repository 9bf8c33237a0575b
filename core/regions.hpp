// Regions of this process that peers may reach, by slot, with their notification counters.
#pragma once

#include <godwit/window.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/transport.hpp"

namespace godwit::core {

struct RemoteRegion;

/// A remote key has room for that many transports.
inline constexpr std::size_t max_key_transports = 3;

struct RegionEntry {
  std::span<std::byte> memory;
  std::vector<std::pair<Transport*, Registration>> registrations;
  std::vector<std::uint64_t> counters;  // by notification id; grows to the highest id seen
  std::uint16_t slot = 0;
  bool used = false;
};

class RegionTable {
 public:
  /// Registers the memory with every transport. Throws Error(no_memory) when all 65536 slots are taken.
  RegionEntry& add(std::span<std::byte> memory, std::span<const std::unique_ptr<Transport>> transports);
  void remove(RegionEntry& entry) noexcept;
  RegionEntry* find(std::uint16_t slot) noexcept;
  /// imm = slot << 16 | id. Unknown slots are ignored: the region is gone.
  void notify(std::uint32_t imm);
  /// Subtracts if the counter is at least `count`.
  bool take(std::uint16_t slot, std::uint16_t id, std::uint64_t count) noexcept;

 private:
  std::vector<std::unique_ptr<RegionEntry>> entries_;
};

/// Layout: docs/wire.md.
RemoteKey encode_key(const RegionEntry& entry, Rank owner);
/// Throws Error(invalid_argument) for bytes that are no key.
RemoteRegion decode_key(const RemoteKey& key);

}  // namespace godwit::core
