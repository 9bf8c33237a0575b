#include "tune/options.hpp"

#include "common/usage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <sstream>

namespace godwit::apps {

namespace {

/// Those that have a choice of algorithms.
std::vector<Benchmark> all_collectives() {
  std::vector<Benchmark> found;
  for (const Benchmark benchmark : all_benchmarks)
    if (collective_of(benchmark)) found.push_back(benchmark);
  return found;
}

std::vector<Benchmark> parse_collectives(const std::string& list) {
  const std::vector<Benchmark> all = all_collectives();
  if (list.empty()) return all;
  std::vector<Benchmark> found;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    const auto known = std::ranges::find_if(all, [&](Benchmark b) { return to_string(*collective_of(b)) == word; });
    if (known == all.end()) {
      std::vector<std::string_view> names;
      for (const Benchmark benchmark : all) names.push_back(to_string(*collective_of(benchmark)));
      throw UsageError(fmt::format("--collectives: there is no '{}'; known are {}", word, fmt::join(names, ", ")));
    }
    found.push_back(*known);
  }
  return found;
}

}  // namespace

void add_tune_flags(CLI::App& command, TuneWords& words) {
  command.add_option("--collectives", words.collectives, "which: allreduce,broadcast (default all)");
  command.add_option("-b,--minbytes", words.sweep.first, "first size of a rank's longest buffer (default 8)");
  command.add_option("-e,--maxbytes", words.sweep.last, "last size (default 16M)");
  command.add_option("-i,--stepbytes", words.sweep.step, "distance between sizes");
  command.add_option("-f,--stepfactor", words.sweep.factor, "factor between sizes, instead of -i (default 4)");
  command.add_option("--rounds", words.rounds, "times that each algorithm is measured, by turns (default 7)")
      ->check(CLI::Range(1, 1000));
  command.add_option("--round-ms", words.round_ms, "about how long each of them takes (default 10)")
      ->check(CLI::Range(0.1, 10000.0));
  command.add_option("-o,--output", words.file,
                     "writes the table for GODWIT_TUNE_FILE; what the file knows of other "
                     "numbers of ranks and nodes stays");
}

TuneOptions tune_options(const TuneWords& words) {
  TuneOptions options;
  options.benchmarks = parse_collectives(words.collectives);
  take_words(options.sizes, words.sweep);
  options.sizes.check();
  options.rounds = words.rounds;
  options.round_s = words.round_ms / 1e3;
  options.file = words.file;
  return options;
}

}  // namespace godwit::apps
