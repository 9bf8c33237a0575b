// PlanCache: the plans of the last shapes of calls, so that a repeated call builds nothing. Thread rule: the worker's.
#pragma once

#include "collectives/algorithm.hpp"
#include "collectives/plan.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace godwit::collectives {

class PlanCache {
 public:
  struct Entry {
    Problem problem;
    const Algorithm* algorithm = nullptr;
    Plan plan;
    int users = 0;               // executions that run it: it stays as long
    BlockTable sends, receives;  // that the problem names
  };
  using Choose = std::function<const Algorithm&(const Problem&)>;

  explicit PlanCache(std::size_t capacity) : capacity_(capacity) {}

  /// The plan for `rank`; builds it with the algorithm that `choose` picks if it is not there. The least recently
  /// used entry without users goes when there are more than `capacity`.
  Entry& get(const Problem& problem, Rank rank, const Choose& choose);
  std::size_t size() const noexcept { return entries_.size(); }

 private:
  void evict();

  std::size_t capacity_;
  std::vector<std::unique_ptr<Entry>> entries_;  // most recently used first
};

}  // namespace godwit::collectives
