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

double pieces(const Problem& problem, double bytes) noexcept {
  return std::max(1.0, std::ceil(bytes / static_cast<double>(problem.chunk_bytes)));
}

}  // namespace godwit::collectives
