// What the verifier computes with instead of numbers: sets of ranks, and which of their elements a buffer holds.
#pragma once

#include "collectives/interval_map.hpp"

#include <godwit/types.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace godwit::collectives {

/// Names sets of ranks by small numbers, so that equal sets have equal names and unions are computed once.
class RankSets {
 public:
  using Name = std::uint32_t;
  static constexpr Name nothing = 0;

  explicit RankSets(int ranks);
  Name single(Rank rank);
  Name first(int count);  // ranks 0..count-1
  Name all() { return first(ranks_); }
  Name unite(Name a, Name b);
  /// A rank that is in both, if any.
  std::optional<Rank> common(Name a, Name b) const;
  /// All ranks of `a` come just before all of `b`, without a gap in or between them.
  bool precedes(Name a, Name b) const;
  /// "{0..3, 7}".
  std::string describe(Name name) const;

 private:
  using Bits = std::vector<std::uint64_t>;
  Name name_of(const Bits& bits);
  std::vector<Rank> members(Name name) const;

  int ranks_;
  std::vector<Bits> sets_;
  std::map<Bits, Name> names_;
  std::unordered_map<std::uint64_t, Name> unions_;
};

/// Element e of the buffer holds the reduction of element e + shift of the inputs of `ranks`.
struct Content {
  RankSets::Name ranks = RankSets::nothing;  // nothing: not written yet
  std::int64_t shift = 0;
  bool scaled = false;  // divided by the number of ranks
  friend bool operator==(const Content&, const Content&) = default;
};

using Contents = IntervalMap<Content>;

}  // namespace godwit::collectives
