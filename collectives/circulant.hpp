// Circulant graphs: reduce-scatter and allgather in the fewest rounds with the fewest bytes for any number of ranks.
// Bruck's allgather, and the same backwards: J. Bruck et al.: "Efficient algorithms for all-to-all communications in
// multiport message-passing systems", IEEE TPDS 8 (1997); J. L. Traeff: "Optimal, non-pipelined reduce-scatter and
// allreduce algorithms", arXiv:2410.14234 (2024). With n ranks: ceil(log2 n) rounds; n - 1 blocks sent (and reduced).
// Blocks keep their places, so that a message is one run of them, or two where it wraps around. Pure.
#pragma once

#include "collectives/phases.hpp"

namespace godwit::collectives {

/// The team's rank v ends with block v reduced at `target`; `source` is only read, the other blocks of `accumulator`
/// (as long as the source, or the source itself) are overwritten. Association: of blocks at distance d = 2^k below a
/// multiple of 2^(k+1), farthest first; modulo size, so the operation must be commutative.
void circulant_reduce_scatter(ScheduleBuilder& b, const Team& team, Place source, Place accumulator, Place target,
                              const Blocks& blocks);
/// Block v of `base` comes from the team's rank v; all blocks end on all ranks.
void circulant_allgather(ScheduleBuilder& b, const Team& team, Place base, const Blocks& blocks);

}  // namespace godwit::collectives
