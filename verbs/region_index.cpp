#include "verbs/region_index.hpp"

#include <algorithm>

namespace godwit::verbs {

Region* RegionIndex::search(std::uintptr_t begin, std::uintptr_t end) noexcept {
  auto item = std::upper_bound(items_.begin(), items_.end(), begin,
                               [](std::uintptr_t address, const Item& each) { return address < each.begin; });
  if (item == items_.begin() || (--item)->end < end) return nullptr;
  return last_ = item->region;
}

void RegionIndex::reserve() {
  if (items_.size() == items_.capacity()) items_.reserve(2 * items_.size() + 16);
}

void RegionIndex::insert(Region& region) {
  const auto place = std::lower_bound(items_.begin(), items_.end(), region.begin(),
                                      [](const Item& each, std::uintptr_t address) { return each.begin < address; });
  items_.insert(place, Item{region.begin(), region.end(), &region});
}

void RegionIndex::erase(const Region& region) noexcept {
  items_.erase(std::lower_bound(items_.begin(), items_.end(), region.begin(),
                                [](const Item& each, std::uintptr_t address) { return each.begin < address; }));
  if (last_ == &region) last_ = nullptr;
}

Region* RegionIndex::before(std::uintptr_t begin) const noexcept {
  const auto item = std::lower_bound(items_.begin(), items_.end(), begin,
                                     [](const Item& each, std::uintptr_t address) { return each.begin < address; });
  return item == items_.begin() ? nullptr : std::prev(item)->region;
}

Region* RegionIndex::behind(std::uintptr_t end) const noexcept {
  const auto item = std::upper_bound(items_.begin(), items_.end(), end,
                                     [](std::uintptr_t address, const Item& each) { return address < each.end; });
  return item == items_.end() ? nullptr : item->region;
}

Region* RegionIndex::within(std::uintptr_t begin, std::uintptr_t end) const noexcept {
  const auto item = std::lower_bound(items_.begin(), items_.end(), begin,
                                     [](const Item& each, std::uintptr_t address) { return each.begin < address; });
  return item == items_.end() || item->end > end ? nullptr : item->region;
}

Region* RegionIndex::touching(std::uintptr_t begin, std::uintptr_t end) const noexcept {
  const auto item = std::upper_bound(items_.begin(), items_.end(), begin,
                                     [](std::uintptr_t address, const Item& each) { return address < each.end; });
  return item == items_.end() || item->begin >= end ? nullptr : item->region;
}

Region* RegionIndex::cached() const noexcept {
  const auto item =
      std::find_if(items_.begin(), items_.end(), [](const Item& each) { return !each.region->explicitly; });
  return item == items_.end() ? nullptr : item->region;
}

}  // namespace godwit::verbs
