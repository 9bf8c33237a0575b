#include "collectives/cost.hpp"

#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace godwit::collectives {

double seconds(const Cost& cost, const LinkModel& link) noexcept {
  const double work = cost.messages * link.overhead_s + cost.bytes / link.bandwidth_Bps +
                      cost.reduced / link.reduce_Bps + cost.copied / link.copy_Bps;
  return cost.rounds * link.latency_s + work * std::max(1.0, link.crowding);
}

double seconds(const Cost& cost, const LinkModel& near, const LinkModel& far) noexcept {
  const double work = cost.messages * far.overhead_s + cost.near_bytes / near.bandwidth_Bps +
                      (cost.bytes - cost.near_bytes) * cost.sharing / far.bandwidth_Bps +
                      cost.reduced / far.reduce_Bps + cost.copied / far.copy_Bps;
  return cost.near_rounds * near.latency_s + (cost.rounds - cost.near_rounds) * far.latency_s +
         work * std::max(1.0, far.crowding);
}

Cost at_all_distances(const Problem& problem, Cost cost) noexcept {
  if (problem.shape.nodes <= 1) return cost;
  const double inside = log2_ceil(problem.shape.ranks_per_node), all = log2_ceil(problem.size);
  cost.near_rounds = cost.rounds * std::min(1.0, inside / std::max(1.0, all));
  cost.sharing = problem.shape.ranks_per_node;
  return cost;
}

std::string to_string(const Cost& cost) {
  const auto size = [](double bytes) { return core::format_size(static_cast<std::size_t>(bytes)); };
  std::string text = fmt::format("{:.0f} rounds, {} sent", cost.rounds, size(cost.bytes));
  if (cost.reduced > 0) text += fmt::format(", {} reduced", size(cost.reduced));
  if (cost.copied > 0) text += fmt::format(", {} copied", size(cost.copied));
  return text;
}

Terms::Terms(const Problem& problem) noexcept
    : n(problem.size),
      bytes(static_cast<double>(problem.bytes())),
      block(bytes / n),
      rounds(log2_ceil(problem.size)),
      power(power_of_two_below(problem.size)),
      halvings(log2_ceil(power_of_two_below(problem.size))),
      fold(problem.size == power_of_two_below(problem.size) ? 0 : 1),
      others(n - 1),
      share(others / n) {}

Cost cost_of_chain(const Problem& problem) noexcept {
  const Terms t(problem);
  const double count = pieces(problem, t.bytes);
  const double hops = std::max(0.0, t.n - 2);
  return {.rounds = t.others, .bytes = t.n > 1 ? t.bytes + hops * t.bytes / count : 0, .messages = t.share * count};
}

Cost cost_of_reducing_chain(const Problem& problem) noexcept {
  Cost cost = cost_of_chain(problem);
  if (problem.size > 1) cost.reduced = Terms(problem).bytes;
  return cost;
}

double pieces(const Problem& problem, double bytes) noexcept {
  return std::max(1.0, std::ceil(bytes / static_cast<double>(problem.chunk_bytes)));
}

}  // namespace godwit::collectives
