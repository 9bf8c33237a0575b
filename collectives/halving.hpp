// Recursive halving and doubling for any number of ranks: the largest power of two takes part, the ranks above it
// are folded into their neighbours before and get the result after. Pure.
#pragma once

#include "collectives/nodes.hpp"

#include <vector>

namespace godwit::collectives {

/// Who of a team takes part: of the first 2 * extra ranks one of each pair (2i, 2i+1), the others all. `participants`
/// is a power of two; participants are in the order of their ranks.
class Fold {
 public:
  /// Of a pair that contains `root`, the root stays; else the odd one.
  explicit Fold(const ScheduleBuilder& b, Rank root = -1) : Fold(everybody(b), root) {}
  /// `root`: its index in the team.
  explicit Fold(Team team, int root = -1);
  int participants() const noexcept { return participants_; }
  bool uneven() const noexcept { return extra_ != 0; }
  /// The builder's rank takes part.
  bool stays() const noexcept { return index_ >= 0; }
  /// The builder's rank is one of a pair; `partner` is the other.
  bool paired() const noexcept { return partner_ >= 0; }
  Rank partner() const noexcept { return team_[partner_]; }
  bool before_partner() const noexcept { return team_.me < partner_; }
  /// Index of the builder's rank, -1 if it does not stay.
  int index() const noexcept { return index_; }
  Rank rank_of(int index) const noexcept { return team_[member_of(index)]; }
  int index_of_root() const noexcept;
  /// First of the team that `index` stands for: 0 <= index <= participants.
  int first_rank(int index) const noexcept { return index < extra_ ? 2 * index : index + extra_; }

 private:
  int member_of(int index) const noexcept;

  Team team_;
  int root_;
  int participants_, extra_, index_ = -1;
  int partner_ = -1;  // as an index in the team
};

/// The rank that does not stay sends its `count` elements of `source`, its partner reduces them with its own into
/// `accumulator`. Returns where the current value of the builder's rank is: source or accumulator.
Place fold_in(ScheduleBuilder& b, const Fold& fold, Place source, Place accumulator, std::uint64_t count);

/// Whole vectors by recursive doubling: all of the team end with the finished reduction in `target`. Of the vectors
/// in `source`, which may be the target. Association: in the team's order, adjacent groups of doubling size.
void doubling_allreduce(ScheduleBuilder& b, const Fold& fold, Place source, Place target, std::uint64_t count);

/// Participant v ends with elements [bounds[v], bounds[v+1]) reduced, at the same offset of `accumulator`; other
/// elements of it are overwritten. `current` is source or accumulator.
/// Association with p participants: (x[v] op x[v+p/2]) op (x[v+p/4] op x[v+3p/4]) ..., lower index first.
/// Returns where the value is (current for p = 1).
Place halving_reduce_scatter(ScheduleBuilder& b, const Fold& fold, Place current, Place accumulator,
                             const std::vector<std::uint64_t>& bounds);
/// Participant v begins with its range of `base`; all end with all.
void doubling_allgather(ScheduleBuilder& b, const Fold& fold, Place base, const std::vector<std::uint64_t>& bounds);
/// Participant v begins with its range of `base`; fold.index_of_root() ends with all.
void doubling_gather(ScheduleBuilder& b, const Fold& fold, Place base, const std::vector<std::uint64_t>& bounds);

}  // namespace godwit::collectives
