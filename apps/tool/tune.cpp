// `godwit tune`: which algorithm is the fastest on the running job, as a table that GODWIT_TUNE_FILE names.
#include "collectives/tuning.hpp"
#include "common/cli.hpp"
#include "common/output_file.hpp"
#include "common/usage.hpp"
#include "core/text.hpp"
#include "runtime/inspect.hpp"
#include "tool/commands.hpp"
#include "tool/file_text.hpp"
#include "tune/measure.hpp"
#include "tune/options.hpp"

#include <fmt/format.h>
#include <godwit/context.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

namespace godwit::apps {

namespace {

// A little slower than the best: what served the size before stays, for noise should not decide.
constexpr double as_good = 1.03;

const AlgorithmTime& pick(const Bench::Result& result, const std::string& before) {
  const auto same = std::ranges::find(result.measured, before, &AlgorithmTime::algorithm);
  if (same != result.measured.end() && same->seconds <= as_good * result.measured.front().seconds) return *same;
  return result.measured.front();
}

void print_row(std::size_t bytes, const Bench::Result& result, const AlgorithmTime& best) {
  const auto chosen = std::ranges::find(result.measured, result.chosen, &AlgorithmTime::algorithm);
  fmt::print("{:>12}  {:<20} {:>10.2f}  {:<20} {:>10.2f} {:>6.2f} ", core::format_size(bytes), best.algorithm,
             best.seconds * 1e6, result.chosen, chosen->seconds * 1e6, chosen->seconds / best.seconds);
  for (const AlgorithmTime& other : result.measured)
    if (other.algorithm != best.algorithm && other.algorithm != result.chosen)
      fmt::print(" {} {:.2f}", other.algorithm, other.seconds * 1e6);
  fmt::print("\n");
  std::fflush(stdout);
}

int tune(const TuneWords& words) {
  const TuneOptions options = tune_options(words);
  Context context;
  Communicator world = context.world();
  const bool first = world.rank() == 0;
  // Before anything is measured: a wrong path costs nothing.
  collectives::Tuning table;
  std::optional<OutputFile> file;
  if (first && !options.file.empty()) {
    if (std::filesystem::exists(options.file))
      table = collectives::Tuning::parse(file_text(options.file), "-o " + options.file);
    file.emplace("-o", options.file);
  }
  const runtime::Spread spread = runtime::spread(world);
  collectives::TunedShape shape{spread.ranks, spread.nodes, spread.ranks_per_node, {}};
  if (first)
    fmt::print("{}\n# us of one call on the slowest rank, median of {} rounds; chosen: without a table\n",
               context.banner(), options.rounds);
  Bench bench(world, options.sizes.largest());
  for (const Benchmark benchmark : options.benchmarks) {
    const Collective collective = *collective_of(benchmark);
    if (first)
      fmt::print("# {}\n{:>12}  {:<20} {:>10}  {:<20} {:>10} {:>6}  {}\n", to_string(collective), "bytes", "fastest",
                 "us", "chosen", "us", "ratio", "others");
    std::string before;
    for (std::optional<std::size_t> size = options.sizes.first; size && *size <= options.sizes.last;
         size = options.sizes.next(*size, sizeof(float))) {
      const Case what{.benchmark = benchmark, .bytes = *size};
      if (what.shape(world.size()).count == 0) continue;  // not one element for each rank
      const Bench::Result result = bench.measure(what, options.rounds, options.round_s);
      if (result.measured.empty()) {
        if (first) fmt::print("{:>12}  by flags in shared memory\n", core::format_size(*size));
        continue;
      }
      const AlgorithmTime& best = pick(result, before);
      before = best.algorithm;
      const std::size_t bytes = std::max(what.shape(world.size()).send, what.shape(world.size()).recv) * sizeof(float);
      shape.ranges.push_back(
          {collective, bytes, collectives::find_algorithm(collective, best.algorithm), best.seconds * 1e6});
      if (first) print_row(*size, result, best);
    }
  }
  if (file) {
    table.set(std::move(shape));
    file->write(table.text());
    fmt::print("# written to {}; to use it: GODWIT_TUNE_FILE={}\n", options.file, options.file);
  }
  world.barrier();
  return 0;
}

}  // namespace

void add_tune(CLI::App& godwit, Action& chosen) {
  auto words = std::make_shared<TuneWords>();
  CLI::App* command = godwit.add_subcommand(
      "tune", "Measure the algorithms of collectives on this job: mpirun -np 8 godwit tune -o FILE");
  add_tune_flags(*command, *words);
  command->callback([words, &chosen] { chosen = [words] { return tune(*words); }; });
}

}  // namespace godwit::apps
