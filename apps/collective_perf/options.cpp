#include "collective_perf/options.hpp"

#include "common/cli.hpp"
#include "common/names.hpp"
#include "common/usage.hpp"

#include <fmt/format.h>
#include <godwit/version.hpp>

#include <CLI/CLI.hpp>
#include <charconv>

namespace godwit::apps {

namespace {

/// The words of those flags that CLI11 does not convert by itself.
struct Words {
  SizeWords sweep;
  std::string op = "sum", type = "float", root = "0";
  int threads = 1, devices = 1, parallel_init = 0, blocking = 0, average = 1;
};

/// Flags of nccl-tests that mean something only there. Zero is what they are without the flag, and accepted.
struct Refused {
  const char* flags;
  const char* why;
};
constexpr std::string_view needs_gpu = "needs GPU memory, and this program measures host memory";
constexpr Refused refused[] = {
    {"-G,--cudagraph", needs_gpu.data()},
    {"-y,--stream_null", needs_gpu.data()},
    {"-R,--local_register", needs_gpu.data()},
    {"-D,--device_implementation", needs_gpu.data()},
    {"-V,--device_cta_count", needs_gpu.data()},
    {"-M,--memory", needs_gpu.data()},
    {"-C,--report_cputime", "is not available: on host memory the time is CPU time"},
    {"-I,--per_iter_timing", "is not available: -J writes min, median and p99 of the iterations"},
    {"-K,--per_iter_skip", "is not available: use more warm-up iterations (-w)"},
    {"-S,--report_timestamps", "is not available"},
    {"-T,--timeout", "is not available: a rank that waits too long says so by itself (godwit info --options)"},
};

void add_refused(CLI::App& app) {
  for (const Refused& flag : refused)
    app.add_option_function<long>(
           flag.flags,
           [flag](const long& value) {
             if (value != 0) throw UsageError(fmt::format("{} {}: {}", flag.flags, value, flag.why));
           },
           fmt::format("only 0 here: {}", flag.why))
        ->group("Flags of nccl-tests without a meaning here");
}

void add_flags(CLI::App& app, CollectiveOptions& options, Words& words) {
  app.add_option("-b,--minbytes", words.sweep.first, "first size: 8, 4K, 64M, 8G (default 32M)");
  app.add_option("-e,--maxbytes", words.sweep.last, "last size (default 32M)");
  app.add_option("-i,--stepbytes", words.sweep.step, "distance between sizes (default 1M)");
  app.add_option("-f,--stepfactor", words.sweep.factor, "factor between sizes, instead of -i");
  app.add_option("-o,--op", words.op, "sum, prod, min, max, avg or all (default sum)");
  app.add_option("-d,--datatype", words.type, "int8 ... uint64, half, bfloat16, float, double or all (default float)");
  app.add_option("-r,--root", words.root, "root rank or all (default 0)");
  app.add_option("-n,--iters", options.iterations, "timed iterations (default 20)")->check(CLI::PositiveNumber);
  app.add_option("-w,--warmup_iters", options.warmup, "iterations before them, per size (default 1)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("-m,--agg_iters", options.aggregate, "operations in flight in each iteration (default 1)")
      ->check(CLI::PositiveNumber);
  app.add_option("-N,--run_cycles", options.cycles, "how often to go through all sizes (default 1)")
      ->check(CLI::PositiveNumber);
  app.add_option("-c,--check", options.checks, "checked iterations per size, 0: no check (default 1)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("-z,--blocking", words.blocking,
                 "0: wait per iteration; 1: wait and barrier per operation; 2: wait per operation; 3: as 0, and an "
                 "untimed barrier per iteration (default 0)")
      ->check(CLI::Range(0, 3));
  app.add_option("-a,--average", words.average, "time of 0: rank 0, 1: mean, 2: fastest, 3: slowest rank (default 1)")
      ->check(CLI::Range(0, 3));
  app.add_option("-u,--unalign", options.unalign, "displace both buffers by so many elements (default 0)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("-J,--output_file", options.json_file, "write the results to this JSON file");
  app.add_option("--report", options.html_file, "write a page with charts to this HTML file");
  app.add_option("-t,--nthreads", words.threads, "only 1: a rank is a process here");
  app.add_option("-g,--ngpus", words.devices, "only 1: buffers are in host memory");
  app.add_option("-p,--parallel_init", words.parallel_init, "accepted: ranks always start in parallel")
      ->check(CLI::Range(0, 1));
}

std::optional<int> parse_root(const std::string& text) {
  if (text == "all") return std::nullopt;
  int root = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), root);
  if (error != std::errc{} || end != text.data() + text.size() || root < 0)
    throw UsageError(fmt::format("-r {}: not a rank; write a number from 0 on, or all", text));
  return root;
}

std::vector<ReduceOp> ops_of(Benchmark benchmark, const std::string& word) {
  std::vector<ReduceOp> ops = parse_ops(word);
  const std::optional<Collective> collective = collective_of(benchmark);
  if (!collective || has_average(*collective)) return ops;
  if (ops.size() == 1 && ops.front() == ReduceOp::avg)
    throw UsageError(fmt::format("-o {}: {} has no average", word, to_string(*collective)));
  std::erase(ops, ReduceOp::avg);
  return ops;
}

void take_words(CollectiveOptions& options, Benchmark benchmark, const Words& words) {
  if (words.threads != 1)
    throw UsageError(
        fmt::format("-t {}: a rank is a process here; start more of them (mpirun -n, godwit run -n)", words.threads));
  if (words.devices != 1)
    throw UsageError(
        fmt::format("-g {}: buffers are in host memory, one pair for each rank; start more ranks "
                    "(mpirun -n, godwit run -n)",
                    words.devices));
  take_words(options.sizes, words.sweep);
  options.sizes.check();
  options.types = parse_types(words.type);
  options.ops = ops_of(benchmark, words.op);
  options.root = parse_root(words.root);
  options.blocking = static_cast<Blocking>(words.blocking);
  options.average = static_cast<Average>(words.average);
}

}  // namespace

CollectiveOptions parse_collective_options(Benchmark benchmark, const std::vector<std::string>& words) {
  const std::string program(program_name(benchmark));
  CLI::App app("Measures and checks a collective on host memory. Start it with mpirun, srun, torchrun or godwit run.",
               program);
  app.set_version_flag("--version", fmt::format("godwit {}", version()));
  CollectiveOptions options;
  Words texts;
  add_flags(app, options, texts);
  add_refused(app);
  parse_command_line(app, words);
  take_words(options, benchmark, texts);
  return options;
}

}  // namespace godwit::apps
