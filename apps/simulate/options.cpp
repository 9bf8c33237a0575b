#include "simulate/options.hpp"

#include "common/names.hpp"
#include "common/usage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <charconv>

namespace godwit::apps {

namespace {

/// "all_reduce", "allreduce" and "AllReduce" are the same.
std::string plain(std::string_view word) {
  std::string text;
  for (const char c : word)
    if (c != '_' && c != '-') text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

Benchmark benchmark_of(const std::string& word) {
  std::vector<std::string_view> known;
  for (const Benchmark benchmark : all_benchmarks) {
    const auto collective = collective_of(benchmark);
    if (!collective) continue;
    if (plain(word) == plain(to_string(*collective))) return benchmark;
    known.push_back(to_string(*collective));
  }
  if (word.empty()) throw UsageError(fmt::format("simulate: which collective? One of {}", fmt::join(known, ", ")));
  throw UsageError(fmt::format("simulate {}: no collective of that name; there are {}", word, fmt::join(known, ", ")));
}

/// "1.3G", powers of 1000.
double parse_number(std::string_view flag, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const double factor = unit.empty()  ? 1
                        : unit == "K" ? 1e3
                        : unit == "M" ? 1e6
                        : unit == "G" ? 1e9
                        : unit == "T" ? 1e12
                                      : 0;
  if (error != std::errc{} || !(value > 0) || factor == 0 || value * factor > 1e15)
    throw UsageError(fmt::format("{} {}: write a number such as 350M, 1.3G or 7e9 (powers of 1000)", flag, text));
  return value * factor;
}

}  // namespace

void add_simulate_flags(CLI::App& command, SimulateWords& words) {
  SimulateOptions& o = words.options;
  command.add_option("collective", words.collective, "allreduce, allgather, broadcast, ...");
  command.add_option("--cluster", o.cluster_file, "JSON file that describes the cluster (docs/simulator.md)");
  command.add_flag("--describe", o.describe, "print such a file for this machine, and nothing else");
  command.add_option("--ranks", o.ranks, "number of ranks (default: as many as the cluster has)")
      ->check(CLI::PositiveNumber);
  command.add_option("--nodes", o.nodes, "number of nodes, instead of the file's")->check(CLI::PositiveNumber);
  command.add_option("-b,--minbytes", words.sweep.first, "first size: 8, 4K, 64M, 8G (default 8)");
  command.add_option("-e,--maxbytes", words.sweep.last, "last size (default 128M)");
  command.add_option("-i,--stepbytes", words.sweep.step, "distance between sizes");
  command.add_option("-f,--stepfactor", words.sweep.factor, "factor between sizes, instead of -i (default 4)");
  command.add_option("-d,--datatype", words.type, "int8 ... uint64, half, bfloat16, float, double (default float)");
  command.add_option("-o,--op", words.op, "sum, prod, min, max or avg (default sum)");
  command.add_option("-r,--root", o.root, "root rank (default 0)")->check(CLI::NonNegativeNumber);
  command.add_option("--algo", o.algorithms, "allowed algorithms, in the grammar of GODWIT_ALGO: ring,tree or ^ring");
  command.add_flag("--compare", o.compare, "all allowed algorithms side by side instead of the selector's choice");
  command.add_flag("--explain", o.explain, "for each size: what the time goes into, critical path, busiest link");
  command
      .add_option("--steps", o.steps,
                  "run at most so many steps for a prediction; with more ranks than that allows, "
                  "some stand for all (default 1500000, about a second)")
      ->check(CLI::PositiveNumber);
  command.add_option("--parameters", words.parameters,
                     "a training step instead of a table: parameters of the model (1.3G)");
  command.add_option("--compute-ms", words.compute_ms, "with --parameters: a step's time without communication")
      ->check(CLI::PositiveNumber);
  command.add_option("--bucket", words.bucket, "with --parameters: bytes of gradients per allreduce (default 25M)");
  command.add_option("--report", o.html_file, "write a page with curves to this HTML file");
  command.footer("Example: godwit simulate --cluster dgx_a100.json --ranks 64 allreduce -b 1M -e 1G -f 2");
}

SimulateOptions simulate_options(const SimulateWords& words) {
  SimulateOptions options = words.options;
  if (options.describe) return options;
  if (options.cluster_file.empty())
    throw UsageError("simulate: name a cluster (--cluster FILE.json), or have this machine described (--describe)");
  const bool training = !words.parameters.empty();
  options.benchmark = benchmark_of(training && words.collective.empty() ? "allreduce" : words.collective);
  take_words(options.sizes, words.sweep);
  options.sizes.check();
  const auto types = parse_types(words.type);
  const auto ops = parse_ops(words.op);
  if (types.size() != 1 || ops.size() != 1)
    throw UsageError("simulate: one type (-d) and one operation (-o) at a time");
  options.type = types.front();
  options.op = ops.front();
  if (const auto collective = collective_of(options.benchmark);
      collective && options.op == ReduceOp::avg && !has_average(*collective))
    throw UsageError(fmt::format("simulate: -o avg: {} has no average", to_string(*collective)));
  if (!training && (words.compute_ms > 0 || !words.bucket.empty()))
    throw UsageError("simulate: --compute-ms and --bucket go with --parameters");
  if (!training) return options;
  if (words.compute_ms <= 0) throw UsageError("simulate --parameters: how long does a step compute? --compute-ms 300");
  if (options.benchmark != Benchmark::all_reduce)
    throw UsageError("simulate --parameters: gradients are summed by an allreduce; leave out the collective");
  options.parameters = parse_number("--parameters", words.parameters);
  options.compute_s = words.compute_ms / 1e3;
  if (!words.bucket.empty()) options.bucket = parse_size_flag("--bucket", words.bucket);
  if (options.bucket < size_of(options.type))
    throw UsageError(fmt::format("--bucket {}: less than one {}", options.bucket, to_string(options.type)));
  return options;
}

}  // namespace godwit::apps
