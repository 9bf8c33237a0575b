// flags: each rank stores its contribution into a line of its own in a shared page, and reads those of all others.
//   association: ((0 + 1) + 2) + ..., by every rank for itself.   cost: one cache line from each rank.
#include "collectives/direct.hpp"

namespace godwit::collectives {

namespace {

bool fits_flags(const Problem& problem) noexcept {
  return problem.shape.nodes == 1 && problem.size > 1 && problem.size <= most_flag_ranks &&
         contribution(problem) <= flag_payload;
}

Cost flags_cost(const Problem& problem) noexcept {
  const Terms t(problem);
  const auto bytes = static_cast<double>(contribution(problem));
  return {.rounds = 1, .bytes = bytes * t.others, .reduced = problem.reduces() ? bytes * t.others : 0};
}

constexpr Algorithm flags_of(Collective collective) {
  return {.name = "flags",
          .family = "",
          .collective = collective,
          .applies = fits_flags,
          .cost = flags_cost,
          .build = nullptr};
}

constexpr Algorithm barrier_flags = flags_of(Collective::barrier);
constexpr Algorithm allreduce_flags = flags_of(Collective::allreduce);
constexpr Algorithm allgather_flags = flags_of(Collective::allgather);
constexpr const Algorithm* list[] = {&barrier_flags, &allreduce_flags, &allgather_flags};

}  // namespace

std::span<const Algorithm* const> direct_algorithms() noexcept { return list; }

const Algorithm* direct_algorithm(const Problem& problem) noexcept {
  for (const Algorithm* algorithm : list)
    if (algorithm->collective == problem.collective && algorithm->applies(problem)) return algorithm;
  return nullptr;
}

}  // namespace godwit::collectives
