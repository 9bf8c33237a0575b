#include "simulate/explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

namespace godwit::apps {

namespace {

using collectives::simulator::Activity;
using collectives::simulator::Outcome;
using collectives::simulator::Run;

constexpr std::array<std::string_view, 6> kind_names = {
    "processors for messages", "bytes on links", "latency", "handshakes", "reductions", "copies"};

/// From the first activity to the last.
std::vector<Activity> critical_path(const Outcome& outcome) {
  std::vector<Activity> path;
  for (std::uint32_t at = outcome.last; at != Activity::none; at = outcome.activities[at].cause)
    path.push_back(outcome.activities[at]);
  std::reverse(path.begin(), path.end());
  return path;
}

std::string shares(const std::vector<Activity>& path, double seconds) {
  std::array<double, kind_names.size()> sums{};
  for (const Activity& activity : path)
    sums[static_cast<std::size_t>(activity.kind)] += activity.end_s - activity.begin_s;
  std::vector<std::pair<double, std::string_view>> parts;
  for (std::size_t i = 0; i < sums.size(); ++i)
    if (sums[i] > 0) parts.emplace_back(sums[i], kind_names[i]);
  std::sort(parts.rbegin(), parts.rend());
  std::vector<std::string> words;
  for (const auto& [sum, name] : parts)
    words.push_back(fmt::format("{:.2f} us {} ({:.0f} %)", sum * 1e6, name, sum / seconds * 100));
  return fmt::format("{}", fmt::join(words, ", "));
}

/// The ranks that the critical path goes through, one after the other.
std::string way(const std::vector<Activity>& path) {
  constexpr std::size_t most = 12;
  std::vector<Rank> ranks;
  std::size_t messages = 0;
  for (const Activity& activity : path) {
    const bool message = activity.kind == Activity::Kind::latency;
    messages += message ? 1 : 0;
    for (const Rank rank : {activity.rank, message ? activity.peer : activity.rank})
      if (ranks.empty() || ranks.back() != rank) ranks.push_back(rank);
  }
  const bool cut = ranks.size() > most;
  if (cut) ranks.resize(most);
  return fmt::format("{} message{}, ranks {}{}", messages, messages == 1 ? "" : "s", fmt::join(ranks, " > "),
                     cut ? " > ..." : "");
}

std::string busiest(const Run& run) {
  const auto& used = run.outcome.used;
  const auto& capacities = run.network.capacities();
  std::size_t most = used.size();
  double share = 0;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (run.network.is_processor(static_cast<collectives::simulator::ResourceId>(i))) continue;
    const double busy = used[i] / capacities[i] / run.outcome.seconds;
    if (busy > share * (1 + 1e-9)) {
      share = busy;
      most = i;
    }
  }
  if (most == used.size()) return "none: nothing but processors is shared";
  return fmt::format("{}: {:.0f} % of the time at {:.1f} GB/s",
                     run.network.name(static_cast<collectives::simulator::ResourceId>(most)), share * 100,
                     capacities[most] / 1e9);
}

}  // namespace

std::string explanation(const Run& run) {
  const std::vector<Activity> path = critical_path(run.outcome);
  if (path.empty()) return "#   nothing takes time\n";
  return fmt::format(
      "#   critical path: {}\n#     {}\n#   busiest link: {}\n#   first rank done after {:.2f} us, last after {:.2f} "
      "us\n",
      shares(path, run.outcome.seconds), way(path), busiest(run), run.outcome.first_s * 1e6, run.outcome.seconds * 1e6);
}

std::string plan_line(const collectives::Algorithm& algorithm, const collectives::Problem& problem) {
  const auto begin = std::chrono::steady_clock::now();
  const collectives::Plan plan(build(algorithm, problem, problem.root));
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  const collectives::Schedule& schedule = plan.schedule();
  // As Plan stores them: steps, dependencies and their reverse, three words for each step.
  const std::size_t bytes = plan.size() * (sizeof(collectives::Step) + 3 * sizeof(collectives::StepIndex)) +
                            2 * schedule.dependencies.size() * sizeof(collectives::StepIndex);
  return fmt::format("#   plan of rank {}: {} steps, {:.1f} KB, built here in {:.0f} us; scratch {:.1f} KB\n",
                     problem.root, plan.size(), static_cast<double>(bytes) / 1e3, took.count(),
                     static_cast<double>(schedule.scratch_count * problem.element_size()) / 1e3);
}

}  // namespace godwit::apps
