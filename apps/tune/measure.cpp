#include "tune/measure.hpp"

#include "common/statistics.hpp"
#include "runtime/inspect.hpp"

#include <fmt/format.h>
#include <godwit/collective.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace godwit::apps {

namespace {

constexpr int first_calls = 3;
constexpr double hopeless = 4;  // times the fastest
constexpr int most_calls = 2000;

}  // namespace

Bench::Bench(Communicator world, std::size_t most_bytes)
    : world_(std::move(world)), send_(most_bytes), recv_(most_bytes) {}

Communicator& Bench::with(const Case& what, const std::string& algorithm) {
  const std::string rule = fmt::format("{}:{}", to_string(*collective_of(what.benchmark)), algorithm);
  const auto known = communicators_.find(rule);
  if (known != communicators_.end()) return known->second;
  Communicator& made = communicators_.emplace(rule, world_.dup()).first->second;
  runtime::allow_algorithms(made, rule);
  return made;
}

// Seconds of one call on the slowest rank.
double Bench::time(Communicator& communicator, const CollectiveCall& call, int calls) {
  world_.barrier();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) communicator.collective(call);
  double own = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls;
  world_.allreduce(own, max);
  return own;
}

Bench::Result Bench::measure(const Case& what, int rounds, double round_s) {
  const Operands operands = place(what, world_.rank(), world_.size(), send_.data(), recv_.data());
  write_neutral(what, world_.size(), operands);
  const CollectiveCall call = call_of(what, world_.size(), operands);
  std::vector<std::string> names = runtime::algorithms_for(world_, call);
  if (names.empty()) return {};
  Result result{.chosen = names.front(), .measured = {}};
  // All ranks see the same times, and decide alike.
  std::map<std::string, int> calls;
  std::map<std::string, double> first;
  double fastest = HUGE_VAL;
  for (const std::string& name : names) {
    time(with(what, name), call, 1);
    first[name] = time(with(what, name), call, first_calls);
    fastest = std::min(fastest, first[name]);
  }
  std::erase_if(names,
                [&](const std::string& name) { return name != result.chosen && first[name] > hopeless * fastest; });
  std::map<std::string, std::vector<double>> samples;
  for (int round = 0; round < rounds; ++round)
    for (const std::string& name : names) {
      int& often = calls[name];
      if (round == 0) often = static_cast<int>(std::clamp(round_s / first[name], 1.0, double{most_calls}));
      samples[name].push_back(time(with(what, name), call, often));
    }
  for (const std::string& name : names) result.measured.push_back({name, summarize(samples[name]).median});
  std::ranges::stable_sort(result.measured, {}, &AlgorithmTime::seconds);
  return result;
}

}  // namespace godwit::apps
