// What becomes of single regions: made, listed, unlisted, dropped.
#include "verbs/registrar.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace godwit::verbs {

Registrar::Shelf& Registrar::shelf(int access) {
  for (Shelf& each : shelves_) {
    if (each.access == access) return each;
  }
  return shelves_.emplace_back(Shelf{access, {}});
}

PageRange Registrar::pages_of(std::span<const std::byte> memory) const noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  return {begin / page_ * page_, (begin + memory.size() + page_ - 1) / page_ * page_};
}

// When memory or the limit of locked memory runs out, unused regions go first.
Region* Registrar::pin(std::span<std::byte> memory, int access, bool explicitly, int& error) {
  Regions fresh(1);  // before the registration, so that nothing fails after it
  if (memory.empty()) return &keep(fresh, {}, memory, access, explicitly);
  for (;;) {
    Pinned pinned;
    error = domains_.pin(memory, access, pinned);
    if (pinned) return &keep(fresh, pinned, memory, access, explicitly);
    if (error != ENOMEM || idle_.empty()) return nullptr;
    for (std::size_t some = idle_.size() / 2 + 1; some > 0; --some) evict_oldest();
  }
}

Region& Registrar::keep(Regions& fresh, const Pinned& pinned, std::span<std::byte> memory, int access,
                        bool explicitly) noexcept {
  Region& region = fresh.front();
  region.memory = memory;
  region.pinned = pinned;
  region.access = access;
  region.explicitly = explicitly;
  region.self = fresh.begin();
  region.lkey = pinned.lkey;
  region.rkey = pinned.rkey;
  busy_.splice(busy_.end(), fresh);
  (explicitly ? statistics_.explicit_regions : statistics_.cached_regions) += 1;
  (explicitly ? statistics_.explicit_bytes : statistics_.cached_bytes) += memory.size();
  statistics_.most_cached_bytes = std::max(statistics_.most_cached_bytes, statistics_.cached_bytes);
  return region;
}

void Registrar::drop(Region& region) noexcept {
  const int error = domains_.unpin(region.pinned);
  if (error != 0)
    log_.error("{}: cannot deregister {} bytes at {:#x}: {}. They stay pinned until the process ends", device_,
               region.memory.size(), region.begin(), std::strerror(error));
  (region.explicitly ? statistics_.explicit_regions : statistics_.cached_regions) -= 1;
  (region.explicitly ? statistics_.explicit_bytes : statistics_.cached_bytes) -= region.memory.size();
  (region.idle ? idle_ : busy_).erase(region.self);
}

void Registrar::list(Region& region) noexcept {
  RegionIndex& index = shelf(region.access).index;
  absorb({region.begin(), region.end()}, index);
  index.insert(region);
  region.listed = true;
  notices_.watch(region.begin(), region.end());
}

void Registrar::unlist(Region& region) noexcept {
  shelf(region.access).index.erase(region);
  region.listed = false;
}

void Registrar::absorb(PageRange range, const RegionIndex& index) noexcept {
  while (Region* region = index.within(range.begin, range.end)) {
    unlist(*region);
    if (region->idle) drop(*region);
  }
}

bool Registrar::over_limit(std::size_t more_regions, std::size_t more_bytes) const noexcept {
  return statistics_.cached_regions + more_regions > most_regions_ ||
         statistics_.cached_bytes + more_bytes > most_bytes_;
}

void Registrar::make_room(std::size_t bytes) noexcept {
  while (!idle_.empty() && over_limit(bytes != 0 ? 1 : 0, bytes)) evict_oldest();
}

void Registrar::evict_oldest() noexcept {
  Region& oldest = idle_.front();
  unlist(oldest);
  drop(oldest);
  ++statistics_.evictions;
}

void Registrar::invalidate(std::uintptr_t begin, std::uintptr_t end) noexcept {
  const std::uintptr_t first = begin / page_ * page_;
  const std::uintptr_t rest = end % page_;  // the kernel unmaps whole pages
  const std::uintptr_t last = rest == 0 || end > UINTPTR_MAX - page_ ? end : end + (page_ - rest);
  for (Shelf& each : shelves_) {
    while (Region* region = each.index.touching(first, last)) {
      unlist(*region);
      ++statistics_.invalidations;
      if (region->explicitly)
        forsake(*region);
      else if (region->idle)
        drop(*region);
    }
  }
}

// Not deregistered: its owner still holds its keys.
void Registrar::forsake(const Region& region) noexcept {
  if (const auto known = identical_.find({region.memory.data(), region.memory.size(), region.access});
      known != identical_.end() && known->second == &region)
    identical_.erase(known);
  log_.warn(
      "{}: {} bytes at {:#x} were unmapped or given back (munmap, mremap, madvise) while they are a registered "
      "region: transfers through it reach the old pages, not what the program sees there. Deregister a region "
      "before its memory goes away",
      device_, region.memory.size(), region.begin());
}

}  // namespace godwit::verbs
