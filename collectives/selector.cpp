#include "collectives/selector.hpp"

#include "collectives/direct.hpp"
#include "core/text.hpp"

#include <godwit/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

namespace godwit::collectives {

std::vector<Selector::Candidate> Selector::candidates(const Problem& problem) const {
  const bool far = problem.shape.nodes > 1;
  const Algorithm* const measured = tuning_ != nullptr ? tuning_->find(problem) : nullptr;
  std::vector<Candidate> found;
  for (const Algorithm* algorithm : algorithms()) {
    if (algorithm->collective != problem.collective || !algorithm->applies(problem)) continue;
    if (!rules_.allows(*algorithm, problem)) continue;
    const Cost cost = algorithm->cost(problem);
    const double price = far ? seconds(cost, in_node_, between_nodes_) : seconds(cost, in_node_);
    found.push_back({algorithm, cost, price, algorithm == measured});
  }
  std::ranges::stable_sort(found, {}, [](const Candidate& candidate) {
    return std::tuple(!candidate.measured, candidate.algorithm->on_request, candidate.seconds);
  });
  return found;
}

const Algorithm* Selector::direct(const Problem& problem) const noexcept {
  const Algorithm* const algorithm = direct_algorithm(problem);
  return algorithm != nullptr && rules_.allows(*algorithm, problem) ? algorithm : nullptr;
}

const Algorithm& Selector::choose(const Problem& problem) const {
  const std::vector<Candidate> found = candidates(problem);
  if (!found.empty()) return *found.front().algorithm;
  std::vector<std::string_view> others;
  for (const Algorithm* algorithm : algorithms())
    if (algorithm->collective == problem.collective && algorithm->applies(problem)) others.push_back(algorithm->name);
  throw Error(ErrorCode::not_supported,
              fmt::format("{}: no algorithm that the rules (GODWIT_ALGO, NCCL_ALGO) allow applies; these would: {}",
                          to_string(problem), fmt::join(others, ", ")));
}

namespace {

/// A problem whose longest buffer has about `bytes`.
Problem example(Collective collective, int size, NodeShape shape, std::uint64_t bytes) {
  Problem problem{.collective = collective, .size = size, .count = 1, .shape = shape};
  if (problem.reduces()) problem.type = DataType::float32;
  problem.count = std::max<std::uint64_t>(1, bytes / std::max<std::uint64_t>(1, problem.bytes()));
  return problem;
}

std::string row(const Selector& selector, const Problem& last, bool open_ended) {
  const auto found = selector.candidates(last);
  if (const Algorithm* direct = selector.direct(last))
    return fmt::format("  {:>7}  {:<18}  {} read from the memory of each rank{}\n", core::format_size(last.bytes()),
                       direct->name, core::format_size(contribution(last)),
                       found.empty() ? "" : fmt::format("; the first calls: {}", found.front().algorithm->name));
  if (found.empty()) return "  no algorithm that the rules allow applies\n";
  const auto& best = found.front();
  std::string text =
      fmt::format("  {:>7}  {:<18}  {:.1f} us for {}", open_ended ? "larger" : core::format_size(last.bytes()),
                  best.algorithm->name, best.seconds * 1e6, to_string(best.cost));
  if (best.measured) text += "; measured to be the best";
  if (found.size() > 1) text += fmt::format("; next {} {:.1f} us", found[1].algorithm->name, found[1].seconds * 1e6);
  return text + "\n";
}

}  // namespace

std::string selection_table(const Selector& selector, int size, NodeShape shape) {
  constexpr int first_power = 3, last_power = 30;
  std::string text = fmt::format(
      "{} ranks on {} {}; sizes up to, in bytes of a rank's longest buffer; algorithms on request come last\n", size,
      shape.nodes, shape.nodes == 1 ? "node" : "nodes");
  for (std::size_t i = 0; i < collective_count; ++i) {
    const auto collective = static_cast<Collective>(i);
    text += fmt::format("{}\n", to_string(collective));
    if (collective == Collective::barrier) {
      text += row(selector, {.size = size, .shape = shape}, false);
      continue;
    }
    const auto at = [&](int power) { return example(collective, size, shape, std::uint64_t{1} << power); };
    const auto choice = [&](int power) -> const Algorithm* {
      if (const Algorithm* direct = selector.direct(at(power))) return direct;
      const auto found = selector.candidates(at(power));
      return found.empty() ? nullptr : found.front().algorithm;
    };
    for (int power = first_power; power <= last_power; ++power)
      if (power == last_power || choice(power + 1) != choice(power))
        text += row(selector, at(power), power == last_power);
  }
  return text;
}

}  // namespace godwit::collectives
