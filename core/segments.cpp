#include "core/segments.hpp"

#include "core/shared_memory.hpp"

#include <fcntl.h>
#include <godwit/memory.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

namespace godwit::core::segments {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t arena_bytes = 2 << 20;         // small allocations share segments of this size
constexpr std::size_t largest_in_arena = 512 << 10;  // larger ones get a segment of their own

// Free blocks of one segment, coalesced; best fit. The bookkeeping is outside of the shared memory, where no
// stray put can reach it.
class FreeBlocks {
 public:
  explicit FreeBlocks(std::size_t bytes) { add(0, bytes); }

  std::optional<std::size_t> take(std::size_t bytes) {
    const auto best = by_size_.lower_bound({bytes, 0});
    if (best == by_size_.end()) return std::nullopt;
    const auto [size, offset] = *best;
    remove(offset, size);
    if (size > bytes) add(offset + bytes, size - bytes);
    return offset;
  }

  void give(std::size_t offset, std::size_t bytes) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + bytes) {
      const std::size_t size = next->second;
      remove(offset + bytes, size);
      bytes += size;
    }
    const auto after = by_offset_.lower_bound(offset);
    if (after != by_offset_.begin()) {
      const auto [start, size] = *std::prev(after);
      if (start + size == offset) {
        remove(start, size);
        offset = start;
        bytes += size;
      }
    }
    add(offset, bytes);
  }

  bool all_free(std::size_t bytes) const { return by_offset_.size() == 1 && by_offset_.begin()->second == bytes; }

 private:
  void add(std::size_t offset, std::size_t bytes) {
    by_offset_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }
  void remove(std::size_t offset, std::size_t bytes) {
    by_offset_.erase(offset);
    by_size_.erase({bytes, offset});
  }

  std::map<std::size_t, std::size_t> by_offset_;
  std::set<std::pair<std::size_t, std::size_t>> by_size_;
};

struct OwnSegment {
  OwnSegment(std::uint64_t number, SharedMemory shared, bool arena)
      : id(number), memory(std::move(shared)), free(memory.size()), is_arena(arena) {}
  std::uint64_t id;
  SharedMemory memory;
  FreeBlocks free;
  bool is_arena;
};

// Whoever drops its token waits for a call under way: what the listener uses may end right after.
class Listener {
 public:
  explicit Listener(std::function<void(std::uint64_t)> call) : call_(std::move(call)) {}
  void tell(std::uint64_t id) {
    std::lock_guard lock(mutex_);
    if (call_) call_(id);
  }
  void stop() {
    std::lock_guard lock(mutex_);
    call_ = nullptr;
  }

 private:
  std::mutex mutex_;
  std::function<void(std::uint64_t)> call_;
};

class Registry {
 public:
  // Never destroyed: memory may be given back by destructors of static objects.
  static Registry& instance() {
    static auto* registry = new Registry;
    return *registry;
  }

  void* allocate(std::size_t bytes) {
    const std::size_t rounded = bytes == 0 ? alignment : (bytes + alignment - 1) / alignment * alignment;
    if (rounded < bytes) throw std::bad_array_new_length();
    std::lock_guard lock(mutex_);
    if (rounded > largest_in_arena) {
      OwnSegment& segment = add_segment(rounded, false);
      return take(segment, segment.memory.size());
    }
    for (auto& [base, segment] : segments_) {
      if (!segment->is_arena) continue;
      if (void* pointer = take(*segment, rounded)) {
        std::memset(pointer, 0, rounded);
        return pointer;
      }
    }
    return take(add_segment(arena_bytes, true), rounded);
  }

  std::byte* allocate_alone(std::size_t bytes) {
    std::lock_guard lock(mutex_);
    OwnSegment& segment = add_segment(bytes, false);
    return static_cast<std::byte*>(take(segment, segment.memory.size()));
  }

  void close_file(const std::byte* memory) noexcept {
    std::lock_guard lock(mutex_);
    if (const auto segment = segment_of(memory); segment != segments_.end()) segment->second->memory.close_file();
  }

  void deallocate(void* pointer) {
    std::unique_ptr<OwnSegment> released;
    std::vector<std::shared_ptr<Listener>> listeners;
    {
      std::lock_guard lock(mutex_);
      const auto allocation = allocations_.find(pointer);
      if (allocation == allocations_.end()) bad_free(pointer);
      const auto segment = segment_of(static_cast<std::byte*>(pointer));
      segment->second->free.give(static_cast<std::size_t>(static_cast<std::byte*>(pointer) - segment->first),
                                 allocation->second);
      allocations_.erase(allocation);
      if (!segment->second->free.all_free(segment->second->memory.size())) return;
      if (segment->second->is_arena && arena_count_ == 1) return;  // keep one for the next allocation
      if (segment->second->is_arena) --arena_count_;
      released = std::move(segment->second);
      segments_.erase(segment);
      for (auto& weak : listeners_)
        if (auto listener = weak.lock()) listeners.push_back(std::move(listener));
    }
    for (auto& listener : listeners) listener->tell(released->id);
  }

  std::optional<Segment> find(std::span<const std::byte> memory) {
    std::lock_guard lock(mutex_);
    const auto segment = segment_of(memory.data());
    if (segment == segments_.end()) return std::nullopt;
    const SharedMemory& shared = segment->second->memory;
    if (memory.data() + memory.size() > shared.data() + shared.size()) return std::nullopt;
    return Segment{segment->second->id, shared.data(), shared.size()};
  }

  template <class F>
  auto with(std::uint64_t id, F&& use) -> decltype(use(std::declval<const OwnSegment&>())) {
    std::lock_guard lock(mutex_);
    for (const auto& [base, segment] : segments_)
      if (segment->id == id) return use(*segment);
    return {};
  }

  std::shared_ptr<void> on_release(std::function<void(std::uint64_t)> listener) {
    const auto added = std::make_shared<Listener>(std::move(listener));
    std::shared_ptr<void> token(added.get(), [added](void*) { added->stop(); });
    std::lock_guard lock(mutex_);
    std::erase_if(listeners_, [](const auto& weak) { return weak.expired(); });
    listeners_.push_back(added);
    return token;
  }

 private:
  using Segments = std::map<const std::byte*, std::unique_ptr<OwnSegment>>;

  [[noreturn]] static void bad_free(void* pointer) {
    std::fprintf(stderr, "godwit::deallocate(%p): not from godwit::allocate, or given back already\n", pointer);
    std::abort();
  }

  Segments::iterator segment_of(const std::byte* address) {
    auto after = segments_.upper_bound(address);
    if (after == segments_.begin()) return segments_.end();
    const auto segment = std::prev(after);
    return address < segment->first + segment->second->memory.size() ? segment : segments_.end();
  }

  OwnSegment& add_segment(std::size_t bytes, bool arena) {
    auto segment = std::make_unique<OwnSegment>(next_id_, SharedMemory::create(bytes, "godwit-memory"), arena);
    ++next_id_;
    if (arena) ++arena_count_;
    const std::byte* base = segment->memory.data();
    return *segments_.emplace(base, std::move(segment)).first->second;
  }

  void* take(OwnSegment& segment, std::size_t bytes) {
    const auto offset = segment.free.take(bytes);
    if (!offset) return nullptr;
    void* pointer = segment.memory.data() + *offset;
    allocations_.emplace(pointer, bytes);
    return pointer;
  }

  std::mutex mutex_;
  Segments segments_;  // by base address
  std::unordered_map<void*, std::size_t> allocations_;
  std::vector<std::weak_ptr<Listener>> listeners_;
  std::uint64_t next_id_ = 1;
  std::size_t arena_count_ = 0;
};

}  // namespace

std::byte* allocate_alone(std::size_t bytes) { return Registry::instance().allocate_alone(bytes); }

void close_file(std::byte* memory) noexcept { Registry::instance().close_file(memory); }

std::optional<Segment> find(std::span<const std::byte> memory) noexcept { return Registry::instance().find(memory); }

UniqueFd open(std::uint64_t id) noexcept {
  return Registry::instance().with(
      id, [](const OwnSegment& segment) { return UniqueFd(::fcntl(segment.memory.fd(), F_DUPFD_CLOEXEC, 0)); });
}

std::size_t size_of(std::uint64_t id) noexcept {
  return Registry::instance().with(id, [](const OwnSegment& segment) { return segment.memory.size(); });
}

std::shared_ptr<void> on_release(std::function<void(std::uint64_t)> listener) {
  return Registry::instance().on_release(std::move(listener));
}

}  // namespace godwit::core::segments

namespace godwit {

void* allocate(std::size_t bytes) { return core::segments::Registry::instance().allocate(bytes); }

void deallocate(void* pointer) noexcept {
  if (pointer != nullptr) core::segments::Registry::instance().deallocate(pointer);
}

}  // namespace godwit
