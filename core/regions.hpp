// Regions of this process that peers may reach, by slot, with their notification counters; regions of peers.
#pragma once

#include <godwit/window.hpp>

#include <boost/container/static_vector.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/transport.hpp"

namespace godwit::core {

struct Peer;

/// A remote key has room for that many transports.
inline constexpr std::size_t max_key_transports = 3;

/// A peer's region, decoded from its RemoteKey once and kept with the window.
struct RemoteRegion {
  Rank owner = 0;          // in the job
  std::uint16_t slot = 0;  // in the owner's region table
  std::uint64_t base = 0;
  std::uint64_t size = 0;
  boost::container::static_vector<std::pair<std::string, PackedKey>, max_key_transports> keys;  // by transport name
  std::uint8_t adapter_key = 0;  // 64-bit atomics: 0: a CPU executes them, else the adapter of keys[adapter_key - 1]
  bool imported = false;         // `handle` has been asked for
  std::optional<std::uint64_t> handle;
  Peer* adapter_way = nullptr;  // connected, and its endpoint reaches the adapter with `adapter_handle`
  std::uint64_t adapter_handle = 0;

  AtomicsDomain domain() const noexcept { return adapter_key == 0 ? AtomicsDomain::cpu : AtomicsDomain::adapter; }
};

struct RegionEntry {
  std::span<std::byte> memory;
  std::vector<std::pair<Transport*, Registration>> registrations;
  std::vector<std::uint64_t> counters;  // by notification id; grows to the highest id seen
  std::uint16_t slot = 0;
  std::uint8_t adapter_key = 0;  // as RemoteRegion's, of registrations
  bool used = false;

  AtomicsDomain domain() const noexcept { return adapter_key == 0 ? AtomicsDomain::cpu : AtomicsDomain::adapter; }
  void count(std::size_t id) {
    if (id >= counters.size()) [[unlikely]]
      counters.resize(id + 1);
    ++counters[id];
  }
  /// Subtracts if the counter is at least `count`.
  bool take(std::uint16_t id, std::uint64_t count) noexcept {
    if (id >= counters.size() || counters[id] < count) return count == 0;
    counters[id] -= count;
    return true;
  }
};

class RegionTable {
 public:
  /// Registers the memory with every transport. `wish`: who is to execute 64-bit atomics; entry.domain() says who does:
  /// without an adapter that can, a CPU. Throws Error(no_memory) when all 65536 slots are taken.
  RegionEntry& add(std::span<std::byte> memory, std::span<const std::unique_ptr<Transport>> transports,
                   AtomicsDomain wish = AtomicsDomain::cpu);
  void remove(RegionEntry& entry) noexcept;
  RegionEntry* find(std::uint16_t slot) noexcept {
    return slot < entries_.size() && entries_[slot]->used ? entries_[slot].get() : nullptr;
  }
  /// imm = slot << 16 | id. Unknown slots are ignored: the region is gone.
  void notify(std::uint32_t imm) {
    if (RegionEntry* entry = find(static_cast<std::uint16_t>(imm >> 16))) entry->count(imm & 0xffffU);
  }

 private:
  std::vector<std::unique_ptr<RegionEntry>> entries_;
};

/// Layout: docs/wire.md.
RemoteKey encode_key(const RegionEntry& entry, Rank owner);
/// Throws Error(invalid_argument) for bytes that are no key.
RemoteRegion decode_key(const RemoteKey& key);

}  // namespace godwit::core
