// Keys of registered memory.
#include "fake_verbs/world.hpp"

namespace godwit::fake_verbs {
namespace {

constexpr std::uint32_t first_key = 0x1000;  // no key is a small number

constexpr std::uint32_t index_of(std::uint32_t key) { return (key >> 8) - first_key; }

}  // namespace

void Regions::add(Region& region) {
  region.lkey = (first_key + static_cast<std::uint32_t>(regions_.size())) << 8;
  region.rkey = region.lkey | 1;
  regions_.push_back(&region);
}

void Regions::remove(const Region& region) { regions_[index_of(region.lkey)] = nullptr; }

std::byte* Regions::find(std::uint32_t key, std::uint64_t address, std::uint64_t bytes, const Domain& domain,
                         int access) const {
  const std::uint32_t index = index_of(key);
  if (index >= regions_.size()) return nullptr;
  const Region* const region = regions_[index];
  if (region == nullptr || region->owner != &domain || (region->access & access) != access) return nullptr;
  const std::uint64_t offset = address - region->iova;
  if (address < region->iova || offset > region->length || bytes > region->length - offset) return nullptr;
  return region->memory + offset;
}

std::byte* Regions::local(const ibv_sge& piece, const Domain& domain, int access) const {
  return (piece.lkey & 0xff) == 0 ? find(piece.lkey, piece.addr, piece.length, domain, access) : nullptr;
}

std::byte* Regions::remote(std::uint32_t rkey, std::uint64_t address, std::uint64_t bytes, const Domain& domain,
                           int access) const {
  return (rkey & 0xff) == 1 ? find(rkey, address, bytes, domain, access) : nullptr;
}

}  // namespace godwit::fake_verbs
