// The entry point of the layer: a communicator's collectives on a core worker, on host memory.
// Thread rule: the worker's lock.
#pragma once

#include <godwit/collective.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/problem.hpp"
#include "core/worker.hpp"

namespace godwit::collectives {

/// What a communicator keeps between its collectives: choices of algorithms, plans, scratch memory. The worker must
/// outlive it; collectives in flight when it is destroyed go on.
class CollectiveContext {
 public:
  /// Throws Error(invalid_argument) when GODWIT_ALGO (NCCL_ALGO) names something unknown.
  CollectiveContext(core::Worker& worker, core::Group& group);
  ~CollectiveContext();
  CollectiveContext(const CollectiveContext&) = delete;
  CollectiveContext& operator=(const CollectiveContext&) = delete;

  /// The table of `godwit info --collectives`: which algorithm serves which collective and size here, and why.
  std::string selection_table() const;
  /// Algorithms that the rules allow for a call, by name; none where it is not served by a schedule. Throws as
  /// start_collective().
  std::vector<std::string_view> algorithms_for(const CollectiveCall& call) const;
  /// Other rules in the place of GODWIT_ALGO, and no measured table; before the first collective. Throws
  /// Error(invalid_argument) as the constructor.
  void allow(std::string_view rules);
  NodeShape shape() const;

 private:
  friend core::Operation* start_collective(core::Worker&, CollectiveContext&, const CollectiveCall&, bool);
  friend core::Operation* start_collective(core::Worker&, CollectiveContext&, const UnevenCall&);
  class State;
  std::unique_ptr<State> state_;
};

/// Starts a collective. nullptr: done, successfully; else an operation to wait for and to release. Throws
/// Error(invalid_argument) for a wrong call, Error(not_supported) when the rules allow no algorithm for it; nothing was
/// sent then, and the communicator's sequence of collectives has not moved. `wait`: the caller will wait for it at
/// once.
core::Operation* start_collective(core::Worker& worker, CollectiveContext& context, const CollectiveCall& call,
                                  bool wait = false);
/// The same for blocks of different lengths.
core::Operation* start_collective(core::Worker& worker, CollectiveContext& context, const UnevenCall& call);

}  // namespace godwit::collectives
