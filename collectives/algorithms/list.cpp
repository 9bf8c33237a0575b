// The one list of algorithms. A new one: its file in this folder (CMake finds it), and a line here.
#include "collectives/algorithm.hpp"

#define GODWIT_ALGORITHMS(line)                                                                                        \
  line(barrier_dissemination) line(barrier_hierarchical) line(broadcast_binomial) line(broadcast_chain) line(          \
      broadcast_scatter_allgather) line(broadcast_double_tree) line(broadcast_hierarchical) line(broadcast_knomial)    \
      line(broadcast_kary) line(reduce_binomial) line(reduce_scatter_gather) line(reduce_chain)                        \
          line(reduce_double_tree) line(reduce_hierarchical) line(reduce_knomial) line(reduce_kary) line(              \
              allreduce_recursive_doubling) line(allreduce_binomial) line(allreduce_rabenseifner) line(allreduce_ring) \
              line(allreduce_circulant) line(allreduce_double_tree) line(allreduce_hierarchical) line(allreduce_rails) \
                  line(allreduce_ring_channels) line(allreduce_knomial) line(allreduce_kary)                           \
                      line(allgather_recursive_doubling) line(allgather_bruck) line(allgather_ring)                    \
                          line(allgather_pat) line(allgather_hierarchical) line(reduce_scatter_recursive_halving)      \
                              line(reduce_scatter_pairwise) line(reduce_scatter_ring) line(reduce_scatter_circulant)   \
                                  line(reduce_scatter_pat) line(reduce_scatter_hierarchical) line(gather_binomial)     \
                                      line(gather_linear) line(scatter_binomial) line(scatter_linear)                  \
                                          line(alltoall_bruck) line(alltoall_pairwise) line(alltoall_hierarchical)     \
                                              line(scan_doubling) line(scan_chain) line(exscan_doubling)               \
                                                  line(exscan_chain) line(allgatherv_ring)                             \
                                                      line(reduce_scatterv_pairwise) line(reduce_scatterv_ring)        \
                                                          line(gatherv_linear) line(scatterv_linear)                   \
                                                              line(alltoallv_pairwise)

namespace godwit::collectives {

#define DECLARE(name) extern const Algorithm name;
GODWIT_ALGORITHMS(DECLARE)
#undef DECLARE

namespace {

#define ADDRESS(name) &(name),
constexpr const Algorithm* list[] = {GODWIT_ALGORITHMS(ADDRESS)};
#undef ADDRESS

}  // namespace

std::span<const Algorithm* const> algorithms() noexcept { return list; }

const Algorithm* find_algorithm(Collective collective, std::string_view name) noexcept {
  for (const Algorithm* algorithm : list)
    if (algorithm->collective == collective && algorithm->name == name) return algorithm;
  return nullptr;
}

Schedule build(const Algorithm& algorithm, const Problem& problem, Rank rank) {
  ScheduleBuilder builder(problem, rank);
  algorithm.build(builder);
  return std::move(builder).take();
}

}  // namespace godwit::collectives
