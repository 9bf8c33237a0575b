// Walk: runs the plans of all ranks in one process, without data: in an order that the rules of schedule.hpp allow,
// messages matched first in, first out, and with no buffering at all (a send completes when its receive is posted).
// What does not deadlock so does not deadlock with more buffering. The verifier looks at each step on the way.
#pragma once

#include "collectives/plan.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace godwit::collectives {

class WalkObserver {
 public:
  virtual ~WalkObserver() = default;
  /// A reduce, copy or scale of `rank` runs.
  virtual void local(Rank rank, StepIndex step) = 0;
  /// A message goes from a send to the receive that it matches.
  virtual void transfer(Rank from, StepIndex send, Rank to, StepIndex recv) = 0;
  /// Asked after each of these: ends the walk.
  virtual bool stop() const = 0;
};

/// plans[r] is rank r's. `seed` picks one of the orders of independent ranks. Returns what is stuck, in words, or
/// an empty string.
std::string walk(std::span<const Plan> plans, WalkObserver& observer, std::uint32_t seed = 0);

}  // namespace godwit::collectives
