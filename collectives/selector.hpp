// Selector: the cheapest allowed algorithm by predicted cost. Pure, and a function of values that are equal on all
// ranks, so that all choose alike.
#pragma once

#include "collectives/algorithm.hpp"
#include "collectives/cost.hpp"
#include "collectives/selection_rules.hpp"
#include "collectives/tuning.hpp"

#include <string>
#include <vector>

namespace godwit::collectives {

class Selector {
 public:
  struct Candidate {
    const Algorithm* algorithm;
    Cost cost;
    double seconds;
    bool measured = false;  // it comes first for that
  };

  /// `in_node` prices what stays in a node, `between_nodes` the rest.
  /// `tuning`, which outlives this, may be nullptr.
  Selector(SelectionRules rules, const LinkModel& in_node, const LinkModel& between_nodes,
           const Tuning* tuning = nullptr)
      : rules_(std::move(rules)), in_node_(in_node), between_nodes_(between_nodes), tuning_(tuning) {}

  /// Allowed algorithms that apply: what was measured to be the best, then the cheapest first, equal ones in the order
  /// of the list; those on request come last.
  std::vector<Candidate> candidates(const Problem& problem) const;
  /// The way that comes before all algorithms, if it is allowed and applies; nullptr if there is none.
  const Algorithm* direct(const Problem& problem) const noexcept;
  /// Throws Error(not_supported) when no allowed algorithm applies, naming those that would.
  const Algorithm& choose(const Problem& problem) const;

 private:
  SelectionRules rules_;
  LinkModel in_node_, between_nodes_;
  const Tuning* tuning_;
};

/// The choices as text, for `godwit info`: per collective and range of sizes (bytes of the longest buffer of a rank)
/// the algorithm, what it costs at the upper end, and the runner-up.
std::string selection_table(const Selector& selector, int size, NodeShape shape);

}  // namespace godwit::collectives
