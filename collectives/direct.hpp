// Ways to do a collective that are no schedules: the ranks of one host read each other's memory. Pure.
#pragma once

#include "collectives/algorithm.hpp"

#include <cstddef>
#include <span>

namespace godwit::collectives {

/// Bytes that a rank contributes to a collective by flags.
inline constexpr std::size_t flag_payload = 64;
/// Most ranks of a communicator that uses flags.
inline constexpr int most_flag_ranks = 64;

/// Named and priced as the algorithms are, but without build().
std::span<const Algorithm* const> direct_algorithms() noexcept;
/// The one for this collective; nullptr if there is none or if it does not apply.
const Algorithm* direct_algorithm(const Problem& problem) noexcept;

/// Bytes that each rank contributes.
inline std::size_t contribution(const Problem& problem) noexcept {
  return problem.collective == Collective::barrier ? 0 : problem.count * problem.element_size();
}

}  // namespace godwit::collectives
