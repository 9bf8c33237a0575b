// SelectionRules: which algorithms the user allows. Pure.
//
// Grammar of GODWIT_ALGO, which includes NCCL_ALGO's:
//   rules := rule (';' rule)*      rule := [collective ':'] ['^'] word (',' word)*
// A rule with a collective sets the algorithms of that one; a rule without is the default of all collectives that know
// one of its words. `^` excludes the words instead of allowing only them. A word is an algorithm's name or the name of
// a family: `ring` (ring, ring_channels, chain), `tree` (binomial, knomial, kary, double_tree, recursive_doubling,
// recursive_halving). Case, '-' and '_' do not matter: Ring, RecursiveDoubling and recursive-doubling are understood.
// `flags` (direct.hpp) comes before all others where it is allowed and applies; a rule must leave an algorithm for
// other calls, too.
#pragma once

#include "collectives/algorithm.hpp"

#include <cstddef>
#include <limits>
#include <set>
#include <string>
#include <string_view>

namespace godwit::collectives {

class SelectionRules {
 public:
  /// Everything is allowed.
  SelectionRules() = default;
  /// Throws Error(invalid_argument) for an unknown word, naming the known ones, and for rules that leave a collective
  /// without an algorithm. `origin`: where the text comes from, for these.
  static SelectionRules parse(std::string_view text, std::string_view origin = "GODWIT_ALGO");

  /// NCCL_TREE_THRESHOLD: where a collective has a ring, nothing else serves messages of `bytes` or more while the tree
  /// family is allowed below. 0 means ring only.
  void set_tree_threshold(std::size_t bytes) noexcept { tree_threshold_ = bytes; }

  bool allows(const Algorithm& algorithm, const Problem& problem) const noexcept;

 private:
  void apply(std::string_view rule, bool with_collective);
  void apply(Collective collective, const std::set<std::string>& words, bool exclude);
  [[noreturn]] void fail(const std::string& what) const;

  std::string given_;  // "GODWIT_ALGO=ring", for errors
  std::set<const Algorithm*> forbidden_;
  std::size_t tree_threshold_ = std::numeric_limits<std::size_t>::max();
};

}  // namespace godwit::collectives
