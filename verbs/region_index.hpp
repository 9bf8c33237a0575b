// Which region holds some memory: the regions of one access, sorted by address in flat memory.
//
// None lies within another one (whoever adds one takes out those within it). So the order by first byte is the order by
// last byte, and of all regions that begin at or before some memory, the last one reaches farthest: a look-up is one
// binary search. Overlaps are fine. Threads: the registrar's.
#pragma once

#include "verbs/region.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace godwit::verbs {

/// Addresses, from the first byte to behind the last one.
struct PageRange {
  std::uintptr_t begin = 0, end = 0;
  std::size_t bytes() const noexcept { return end - begin; }
  friend bool operator==(PageRange, PageRange) = default;
};

inline std::span<std::byte> span_of(PageRange range) noexcept {
  return {reinterpret_cast<std::byte*>(range.begin), range.bytes()};
}

class RegionIndex {
 public:
  /// The region that holds all of [begin, end), or nullptr. Asks the one found last time first.
  Region* find(std::uintptr_t begin, std::uintptr_t end) noexcept {
    if (last_ != nullptr && last_->begin() <= begin && end <= last_->end()) return last_;
    return search(begin, end);
  }
  /// Makes room for one more, so that the next insert() does not throw.
  void reserve();
  /// The region must not lie within another one, nor another one within it.
  void insert(Region& region);
  void erase(const Region& region) noexcept;
  bool empty() const noexcept { return items_.empty(); }
  std::size_t size() const noexcept { return items_.size(); }

  /// The last region that begins before `begin`; the first that ends behind `end`. nullptr: none.
  Region* before(std::uintptr_t begin) const noexcept;
  Region* behind(std::uintptr_t end) const noexcept;
  /// Some region within [begin, end), or nullptr.
  Region* within(std::uintptr_t begin, std::uintptr_t end) const noexcept;
  /// Some region that shares bytes with [begin, end), or nullptr.
  Region* touching(std::uintptr_t begin, std::uintptr_t end) const noexcept;
  /// Some region that acquire() made, or nullptr.
  Region* cached() const noexcept;

 private:
  struct Item {
    std::uintptr_t begin, end;
    Region* region;
  };
  Region* search(std::uintptr_t begin, std::uintptr_t end) noexcept;

  std::vector<Item> items_;
  Region* last_ = nullptr;
};

}  // namespace godwit::verbs
