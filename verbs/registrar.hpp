// Registers memory with the adapters of all rails: explicit regions, and a bounded cache of registrations of private
// user memory.
//
// Explicit regions are registered exactly as given, counted when identical, and must stay mapped until they are
// deregistered. acquire() serves memory of which nobody has told us: it registers whole pages and keeps them after
// release(), which is right only where every unmapping is reported (UnmapSource). Without that it registers and
// deregisters each time.
//
// How an unmapping is handled: its notice is queued by the thread that unmaps, before it does so. The next call here
// takes the regions that it touches out of the index, so that nothing finds them any more, and deregisters them, at
// once or when their last user releases them. A region that was made meanwhile cannot be missed: its pages are either
// the caller's, who may not unmap them during a transfer, or those of regions that were in the index and thus not yet
// reported when they were merged; a notice that comes later finds the merged region.
//
// Not seen by any UnmapSource of ours: raw system calls, and ftruncate(2) of a mapped file.
//
// Threads: the worker's (or under its lock). Notices come from any thread.
#pragma once

#include "core/log.hpp"
#include "verbs/domains.hpp"
#include "verbs/options.hpp"
#include "verbs/region.hpp"
#include "verbs/region_index.hpp"
#include "verbs/registration_text.hpp"
#include "verbs/unmap_queue.hpp"
#include "verbs/unmap_source.hpp"

#include <godwit/error.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace godwit::verbs {

/// A region with access `have` may be used where `want` is asked for: it may permit more, but not order otherwise.
constexpr bool serves(int have, int want) noexcept {
  constexpr int permissions =
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  return (have & want & permissions) == (want & permissions) && ((have ^ want) & ~permissions) == 0;
}

class Registrar {
 public:
  /// Warns of a small limit of locked memory, and switches the cache on where IB_REG_CACHE and `source` allow; says in
  /// the log what it did and why. `source` null: libucm. Never throws for a source that does not work.
  Registrar(Domains domains, const VerbsOptions& options, core::Log& log,
            std::unique_ptr<UnmapSource> source = nullptr);
  /// Deregisters everything, also what is still held.
  ~Registrar();
  Registrar(const Registrar&) = delete;
  Registrar& operator=(const Registrar&) = delete;

  /// `access`: IBV_ACCESS_*. The same memory with the same access twice is one registration. Memory without bytes
  /// has keys of 0. Throws Error that names device, size, cause and remedy.
  const Registered& register_region(std::span<std::byte> memory, int access);
  /// The same; nullptr where the adapter refuses: failure() says why.
  const Registered* try_register_region(std::span<std::byte> memory, int access);
  /// Throws Error(not_supported) where the kernel or the adapter has no dma-buf. `iova`: the address by which work
  /// requests will name the first byte. Each call is a registration of its own; ends by deregister_region().
  const Registered& register_dmabuf(int fd, std::uint64_t offset, std::size_t bytes, std::uint64_t iova, int access);
  void deregister_region(const Registered& region) noexcept;

  /// Memory of at least one byte that the caller keeps mapped until release(): cached, part of a registered region, or
  /// registered now. A hit neither allocates nor locks nor calls the system. nullptr: failure() says why.
  const Registered* acquire(std::span<std::byte> memory, int access) noexcept {
    const Registered* const known = acquire_known(memory, access);
    return known != nullptr ? known : acquire_new(memory, access);
  }
  /// The same, only if it is known: nothing is registered now, and failure() says nothing.
  const Registered* acquire_known(std::span<std::byte> memory, int access) noexcept {
    look_at_notices();
    Region* const region = find(memory, access);
    if (region == nullptr) return nullptr;
    ++statistics_.hits;
    use(*region);
    return region;
  }
  void release(const Registered* registered) noexcept;
  const Status& failure() const noexcept { return failure_; }

  /// Deregisters what was reported as unmapped.
  void collect() noexcept;
  /// The same if there is any. acquire() does it too; call it when there is nothing else to do, so that unmapped memory
  /// goes back to the system although there are no large transfers.
  void look_at_notices() noexcept {
    if (notices_.changed()) [[unlikely]]
      collect();
  }
  /// Deregisters all that is cached and not in use.
  void flush() noexcept;

  bool caching() const noexcept { return caching_; }
  const RegistrationStatistics& statistics() const noexcept { return statistics_; }

 private:
  using Regions = std::list<Region>;
  using Identity = std::tuple<const std::byte*, std::size_t, int>;
  struct Shelf {
    int access = 0;
    RegionIndex index;
  };

  Region* find(std::span<const std::byte> memory, int access) noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
    for (Shelf& shelf : shelves_) {
      if (!serves(shelf.access, access)) continue;
      if (Region* region = shelf.index.find(begin, begin + memory.size())) return region;
    }
    return nullptr;
  }
  void use(Region& region) noexcept {
    ++region.users;
    if (!region.idle) return;
    region.idle = false;
    busy_.splice(busy_.end(), idle_, region.self);
  }
  const Registered* acquire_new(std::span<std::byte> memory, int access) noexcept;
  Region* pin_cached(PageRange wanted, int access, int& error);
  PageRange grown(PageRange range, const RegionIndex& index) const noexcept;
  Status refuse(std::span<const std::byte> memory, int access, int error, bool dmabuf = false);
  void start_cache(const VerbsOptions& options, std::unique_ptr<UnmapSource> source);

  Shelf& shelf(int access);
  PageRange pages_of(std::span<const std::byte> memory) const noexcept;
  /// nullptr and an errno value where the adapter refuses.
  Region* pin(std::span<std::byte> memory, int access, bool explicitly, int& error);
  Region& keep(Regions& fresh, const Pinned& pinned, std::span<std::byte> memory, int access, bool explicitly) noexcept;
  void drop(Region& region) noexcept;  // unlisted before
  void list(Region& region) noexcept;  // room reserved before
  void unlist(Region& region) noexcept;
  void absorb(PageRange range, const RegionIndex& index) noexcept;
  bool over_limit(std::size_t more_regions, std::size_t more_bytes) const noexcept;
  void make_room(std::size_t bytes) noexcept;
  void evict_oldest() noexcept;
  void invalidate(std::uintptr_t begin, std::uintptr_t end) noexcept;
  void forsake(const Region& region) noexcept;

  Domains domains_;
  core::Log& log_;
  const std::string device_;
  const std::size_t most_regions_, most_bytes_;  // of the cache
  const std::size_t page_;                       // bytes
  bool caching_ = false;
  Status failure_;
  RegistrationStatistics statistics_;
  std::vector<Shelf> shelves_;  // one for each access asked for: two or three
  Regions busy_, idle_;         // idle_: cached ones without users, all listed, the one used longest ago first
  std::map<Identity, Region*> identical_;
  UnmapQueue notices_;
  std::unique_ptr<UnmapSource> source_;
};

}  // namespace godwit::verbs
