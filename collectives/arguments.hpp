// From a CollectiveCall to a Problem: what can be wrong with a call is found here, before anything is sent. Pure.
#pragma once

#include "collectives/problem.hpp"

namespace godwit::collectives {

/// Throws Error(invalid_argument): unknown collective, type or operation; root out of range; a buffer that is null
/// though it has elements; lengths beyond what a process can hold; send and receive buffers that overlap in another
/// way than godwit/collective.hpp allows.
Problem check_arguments(const CollectiveCall& call, Rank rank, int size, NodeShape shape);

/// Also: lengths that are missing, too many, or not those of the own block; blocks of the receive buffer that overlap.
/// The problem names `sends` and `receives`, which are filled in.
Problem check_arguments(const UnevenCall& call, Rank rank, int size, NodeShape shape, BlockTable& sends,
                        BlockTable& receives);

}  // namespace godwit::collectives
