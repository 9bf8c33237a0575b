#include "core/regions.hpp"

#include <cstring>
#include <limits>

#include "core/worker.hpp"

namespace godwit::core {

namespace {

constexpr std::uint32_t key_magic = 0x4b574447;  // "GDWK"
constexpr std::size_t name_size = 8;

struct KeyLayout {
  std::uint32_t magic = 0;
  std::int32_t owner = 0;
  std::uint64_t base = 0;
  std::uint64_t size = 0;
  std::uint16_t slot = 0;
  std::uint16_t count = 0;
  std::uint8_t adapter_key = 0;
  std::uint8_t pad[3] = {};
  struct {
    char name[name_size] = {};
    PackedKey key;
  } keys[max_key_transports];
};
static_assert(sizeof(KeyLayout) <= sizeof(RemoteKey::bytes));
static_assert(std::is_trivially_copyable_v<KeyLayout>);

std::uint8_t first_with_atomics(const RegionEntry& entry) noexcept {
  std::uint8_t place = 0;
  for (const auto& [transport, registration] : entry.registrations)
    if (++place; registration.atomics) return place;
  return 0;
}

}  // namespace

RegionEntry& RegionTable::add(std::span<std::byte> memory, std::span<const std::unique_ptr<Transport>> transports,
                              AtomicsDomain wish) {
  std::size_t slot = 0;
  while (slot < entries_.size() && entries_[slot]->used) ++slot;
  if (slot > std::numeric_limits<std::uint16_t>::max())
    throw Error(ErrorCode::no_memory, "65536 regions and windows are registered: free some");
  if (slot == entries_.size()) entries_.push_back(std::make_unique<RegionEntry>());
  RegionEntry& entry = *entries_[slot];
  entry.slot = static_cast<std::uint16_t>(slot);
  entry.memory = memory;
  try {
    for (const auto& transport : transports)
      entry.registrations.emplace_back(transport.get(), transport->register_memory(memory, MemoryKind::host));
    if (wish == AtomicsDomain::adapter) entry.adapter_key = first_with_atomics(entry);
  } catch (...) {
    remove(entry);
    throw;
  }
  entry.used = true;
  return entry;
}

void RegionTable::remove(RegionEntry& entry) noexcept {
  for (auto& [transport, registration] : entry.registrations) transport->deregister_memory(registration);
  entry.registrations.clear();
  entry.counters.clear();
  entry.memory = {};
  entry.adapter_key = 0;
  entry.used = false;
}

RemoteKey encode_key(const RegionEntry& entry, Rank owner) {
  KeyLayout layout;
  layout.magic = key_magic;
  layout.owner = owner;
  layout.base = reinterpret_cast<std::uint64_t>(entry.memory.data());
  layout.size = entry.memory.size();
  layout.slot = entry.slot;
  layout.adapter_key = entry.adapter_key;
  for (const auto& [transport, registration] : entry.registrations) {
    if (layout.count == max_key_transports) throw Error(ErrorCode::internal, "a remote key holds at most 3 transports");
    auto& place = layout.keys[layout.count++];
    transport->name().copy(place.name, name_size - 1);
    place.key = registration.key;
  }
  RemoteKey key;
  std::memcpy(key.bytes.data(), &layout, sizeof layout);
  return key;
}

RemoteRegion decode_key(const RemoteKey& key) {
  KeyLayout layout;
  std::memcpy(&layout, key.bytes.data(), sizeof layout);
  if (layout.magic != key_magic || layout.count > max_key_transports || layout.adapter_key > layout.count)
    throw Error(ErrorCode::invalid_argument, "these bytes are no remote key: send what Region::key() returned, whole");
  RemoteRegion region;
  region.owner = layout.owner;
  region.slot = layout.slot;
  region.base = layout.base;
  region.size = layout.size;
  region.adapter_key = layout.adapter_key;
  for (std::uint16_t i = 0; i < layout.count; ++i) {
    layout.keys[i].name[name_size - 1] = '\0';
    region.keys.emplace_back(layout.keys[i].name, layout.keys[i].key);
  }
  return region;
}

}  // namespace godwit::core
