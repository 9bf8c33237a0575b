#include "verbs/registrar.hpp"

#include "core/text.hpp"
#include "verbs/lock_limit.hpp"
#include "verbs/ucm_source.hpp"

#include <unistd.h>

#include <cerrno>
#include <new>
#include <utility>

namespace godwit::verbs {
namespace {

Region& region_of(const Registered& registered) noexcept {
  return static_cast<Region&>(const_cast<Registered&>(registered));
}

}  // namespace

Registrar::Registrar(Domains domains, const VerbsOptions& options, core::Log& log, std::unique_ptr<UnmapSource> source)
    : domains_(std::move(domains)),
      log_(log),
      device_(domains_.names()),
      most_regions_(static_cast<std::size_t>(*options.reg_cache_entries)),
      most_bytes_(options.reg_cache_bytes->value),
      page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
  const LockLimit limit = lock_limit();
  if (const std::string warning = lock_limit_warning(limit); !warning.empty())
    log_.write(limit.exempt ? core::LogLevel::info : core::LogLevel::warn, device_ + ": " + warning);
  start_cache(options, std::move(source));
}

void Registrar::start_cache(const VerbsOptions& options, std::unique_ptr<UnmapSource> source) {
  constexpr const char* consequence =
      "private memory is registered and deregistered for each large transfer, which costs time; memory of "
      "godwit::allocate and registered regions are not affected";
  const std::string& wanted = options.reg_cache->value;
  if (wanted == "off") {
    log_.info("{}: no registration cache (GODWIT_IB_REG_CACHE=off): {}", device_, consequence);
    return;
  }
  source_ = source ? std::move(source) : make_ucm_source(wanted == "on");
  const Status status = source_->attach(notices_);
  caching_ = status.ok();
  if (caching_)
    log_.info("{}: registration cache of up to {} regions, {}; {} reports unmapping", device_, most_regions_,
              core::format_size(most_bytes_), source_->name());
  else
    log_.write(wanted == "on" ? core::LogLevel::warn : core::LogLevel::info,
               fmt::format("{}: no registration cache: {}. So {}. Make it work, or silence this with "
                           "GODWIT_IB_REG_CACHE=off",
                           device_, status.message(), consequence));
}

Registrar::~Registrar() {
  if (caching_) source_->detach(notices_);
  if (log_.enabled(core::LogLevel::debug)) log_.debug("{}: registrations: {}", device_, to_text(statistics_));
  flush();
  if (!busy_.empty())
    log_.warn("{}: {} regions are still in use while the adapter is closed: somebody has not released them", device_,
              busy_.size());
  while (!busy_.empty()) {
    if (busy_.back().listed) unlist(busy_.back());
    drop(busy_.back());
  }
}

Status Registrar::refuse(std::span<const std::byte> memory, int access, int error, bool dmabuf) {
  ++statistics_.failures;
  return to_status({.device = device_,
                    .address = reinterpret_cast<std::uintptr_t>(memory.data()),
                    .bytes = memory.size(),
                    .access = access,
                    .error = error,
                    .dmabuf = dmabuf,
                    .limit = lock_limit(),
                    .statistics = statistics_});
}

// ---- explicit regions ----

const Registered& Registrar::register_region(std::span<std::byte> memory, int access) {
  const Registered* registered = try_register_region(memory, access);
  if (registered == nullptr) throw Error(failure_);
  return *registered;
}

const Registered* Registrar::try_register_region(std::span<std::byte> memory, int access) {
  collect();  // what was unmapped before is not this memory
  const Identity identity{memory.data(), memory.size(), access};
  if (const auto known = identical_.find(identity); known != identical_.end()) {
    ++known->second->owners;
    return known->second;
  }
  RegionIndex& index = shelf(access).index;
  index.reserve();
  const auto place = identical_.emplace(identity, nullptr).first;
  int error = 0;
  Region* region = pin(memory, access, true, error);
  if (region == nullptr) {
    identical_.erase(place);
    failure_ = refuse(memory, access, error);
    return nullptr;
  }
  place->second = region;
  region->owners = 1;
  if (!memory.empty() && index.find(region->begin(), region->end()) == nullptr) list(*region);
  return region;
}

const Registered& Registrar::register_dmabuf(int fd, std::uint64_t offset, std::size_t bytes, std::uint64_t iova,
                                             int access) {
  const std::span<std::byte> memory(reinterpret_cast<std::byte*>(iova), bytes);
  Regions fresh(1);
  Pinned pinned;
  if (const int error = domains_.pin({fd, offset, iova}, bytes, access, pinned); !pinned)
    throw Error(refuse(memory, access, error, true));
  Region& region = keep(fresh, pinned, memory, access, true);
  region.owners = 1;
  return region;
}

void Registrar::deregister_region(const Registered& registered) noexcept {
  Region& region = region_of(registered);
  if (--region.owners > 0) return;
  if (const auto known = identical_.find({region.memory.data(), region.memory.size(), region.access});
      known != identical_.end() && known->second == &region)
    identical_.erase(known);
  if (region.listed) unlist(region);
  if (region.users == 0) drop(region);
}

// ---- private memory ----

const Registered* Registrar::acquire_new(std::span<std::byte> memory, int access) noexcept {
  try {
    ++statistics_.misses;
    if (memory.empty()) {
      failure_ = refuse(memory, access, EINVAL);
      return nullptr;
    }
    int error = 0;
    const PageRange pages = pages_of(memory);
    Region* region =
        caching_ && pages.bytes() <= most_bytes_ ? pin_cached(pages, access, error) : pin(memory, access, false, error);
    if (region == nullptr)
      failure_ = refuse(memory, access, error);
    else
      region->users = 1;
    return region;
  } catch (const std::bad_alloc&) {
    failure_ = Status(ErrorCode::no_memory);
    return nullptr;
  }
}

// Registers together with neighbours; without them where that fails, because one of them has become something else.
Region* Registrar::pin_cached(PageRange wanted, int access, int& error) {
  RegionIndex& index = shelf(access).index;
  index.reserve();
  const PageRange together = grown(wanted, index);
  absorb(together, index);
  make_room(together.bytes());
  Region* region = pin(span_of(together), access, false, error);
  const bool merged = region != nullptr && !(together == wanted);
  if (region == nullptr && !(together == wanted)) {
    region = pin(span_of(wanted), access, false, error);
    if (region != nullptr) region->alone = true;
  }
  if (region == nullptr) return nullptr;
  if (merged) ++statistics_.merges;
  list(*region);
  return region;
}

// Takes in a neighbour only if it is no longer than what there is already: walking through memory in small steps then
// registers each byte a logarithmic number of times, not once per step.
PageRange Registrar::grown(PageRange range, const RegionIndex& index) const noexcept {
  const auto joins = [&](const Region* region) {
    return region != nullptr && !region->explicitly && !region->alone && region->begin() <= range.end &&
           range.begin <= region->end() && region->memory.size() <= range.bytes() &&
           range.bytes() + region->memory.size() <= most_bytes_;
  };
  for (;;) {
    if (const Region* left = index.before(range.begin); joins(left))
      range.begin = left->begin();
    else if (const Region* right = index.behind(range.end); joins(right))
      range.end = right->end();
    else
      return range;
  }
}

void Registrar::release(const Registered* registered) noexcept {
  Region& region = region_of(*registered);
  if (--region.users > 0) return;
  if (region.explicitly) {
    if (region.owners == 0) drop(region);
    return;
  }
  if (!region.listed) {
    drop(region);
    return;
  }
  region.idle = true;
  idle_.splice(idle_.end(), busy_, region.self);
  if (over_limit(0, 0)) [[unlikely]]
    make_room(0);
}

void Registrar::collect() noexcept {
  if (!notices_.changed()) return;
  const bool complete = notices_.drain([this](std::uintptr_t begin, std::uintptr_t end) { invalidate(begin, end); });
  if (!complete) {
    ++statistics_.overflows;
    for (Shelf& each : shelves_) {
      while (Region* region = each.index.cached()) invalidate(region->begin(), region->begin() + 1);
    }
  }
  // Not in drop(): regions are dropped while they are merged, and their notices must not be missed then.
  if (statistics_.regions() == 0) notices_.watch_nothing();
}

void Registrar::flush() noexcept {
  while (!idle_.empty()) {
    unlist(idle_.front());
    drop(idle_.front());
  }
}

}  // namespace godwit::verbs
