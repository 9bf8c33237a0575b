#include "collectives/plan_cache.hpp"

#include <algorithm>

namespace godwit::collectives {

namespace {

void keep(BlockTablePointer& pointer, BlockTable& copy) {
  if (!pointer) return;
  copy = *pointer.table;
  pointer.table = &copy;
}

}  // namespace

PlanCache::Entry& PlanCache::get(const Problem& problem, Rank rank, const Choose& choose) {
  const auto known = std::ranges::find_if(entries_, [&](const auto& entry) { return entry->problem == problem; });
  if (known != entries_.end()) {
    std::rotate(entries_.begin(), known, known + 1);
    return *entries_.front();
  }
  const Algorithm& algorithm = choose(problem);
  auto entry = std::make_unique<Entry>(Entry{problem, &algorithm, Plan(build(algorithm, problem, rank)), 0, {}, {}});
  keep(entry->problem.sends, entry->sends);
  keep(entry->problem.receives, entry->receives);
  entries_.insert(entries_.begin(), std::move(entry));
  evict();
  return *entries_.front();
}

void PlanCache::evict() {
  while (entries_.size() > capacity_) {
    const auto idle = std::find_if(entries_.rbegin(), entries_.rend() - 1, [](const auto& e) { return e->users == 0; });
    if (idle == entries_.rend() - 1) return;
    entries_.erase(std::next(idle).base());
  }
}

}  // namespace godwit::collectives
