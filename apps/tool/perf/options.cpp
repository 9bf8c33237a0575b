#include "tool/perf/options.hpp"

#include "common/usage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

namespace godwit::apps {

namespace {

std::string test_names() {
  std::vector<std::string_view> names;
  for (const PerfTest& test : perf_tests()) names.push_back(test.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string test_lines() {
  std::string text = "Tests:\n";
  for (const PerfTest& test : perf_tests()) text += fmt::format("  {:<14}{}\n", test.name, test.help);
  return text +
         "Latency is measured between ranks 0 and 1, the others wait for the end. Percentiles are those of the means\n"
         "of as many iterations as take 20 us together; the average is the whole loop's time by its iterations.\n"
         "Bandwidth and message rate are measured between ranks i and i + n/2, all pairs at once (of an odd number\n"
         "the last rank rests), and added up.";
}

const PerfTest& test_named(std::string_view name) {
  for (const PerfTest& test : perf_tests())
    if (test.name == name) return test;
  throw UsageError(fmt::format("perf {}: no such test; there are {}", name, test_names()));
}

SizeSweep sizes_of(const PerfTest& test, const PerfWords& words) {
  SizeSweep sizes{.range = test.sizes};
  if (!words.sizes.empty()) {
    if (!words.first.empty() || !words.last.empty() || !words.step.empty() || !words.factor.empty())
      throw UsageError("--sizes lists all sizes: leave out -b, -e, -i and -f");
    sizes.list = parse_size_list("--sizes", words.sizes);
    return sizes;
  }
  SizeRange& range = sizes.range;
  if (!words.first.empty()) range.first = parse_size_flag("-b", words.first);
  if (!words.last.empty()) range.last = parse_size_flag("-e", words.last);
  if (words.last.empty()) range.last = std::max(range.first, range.last);
  if (!words.step.empty()) range.step = parse_size_flag("-i", words.step), range.factor = 1;
  if (!words.factor.empty()) range.factor = parse_size_flag("-f", words.factor);
  range.check();
  return sizes;
}

void check_sizes(const PerfTest& test, const SizeSweep& sizes) {
  sizes.for_each([&test](std::size_t size) {
    if (test.exchanged == Exchanged::atomic && size != 4 && size != 8)
      throw UsageError(fmt::format("{}: words have 4 or 8 bytes, not {}", test.name, size));
    if (test.exchanged == Exchanged::watched_put && (size == 0 || size % 8 != 0))
      throw UsageError(
          fmt::format("{}: the target watches the last word, so sizes are multiples of 8, not {}", test.name, size));
    if (test.exchanged == Exchanged::get && size == 0)
      throw UsageError(fmt::format("{}: a get of 0 bytes measures nothing; begin with -b 1", test.name));
  });
}

void check_applies(const PerfOptions& options, const PerfWords& words) {
  const auto only_for = [&](bool wrong, std::string_view flag, std::string_view what) {
    if (wrong) throw UsageError(fmt::format("{}: {} is for {}", options.test.name, flag, what));
  };
  const bool bandwidth = options.test.measured == Measured::bandwidth;
  only_for(words.connect && bandwidth, "--connect", "the latency tests: all ranks of this one measure");
  only_for(words.threads > 1 && (!bandwidth || options.test.exchanged != Exchanged::send), "-t",
           "msg_rate and send_bw");
  only_for(words.idle_ms && options.test.measured != Measured::wake, "--idle-ms", "wake_lat");
  if (words.threads > 1 && words.thread_mode == "single")
    throw UsageError(fmt::format("-t {}: several threads need --thread-mode multiple", words.threads));
}

void add_size_flags(CLI::App& command, PerfWords& words) {
  command.add_option("-b,--minbytes", words.first, "first size: 0, 8, 4K, 64M, 8G (default 8)");
  command.add_option("-e,--maxbytes", words.last, "last size (default 4M; am_lat, msg_rate: 4K; 8 for single words)");
  command.add_option("-i,--stepbytes", words.step, "distance between sizes, instead of -f");
  command.add_option("-f,--stepfactor", words.factor, "factor between sizes (default 2)");
  command.add_option("--sizes", words.sizes, "exactly these sizes: 0,8,4K");
}

}  // namespace

int PerfOptions::iterations_for(std::size_t bytes) const noexcept {
  if (iterations > 0) return iterations;
  if (test.measured == Measured::wake) return 20;
  const std::size_t most = test.measured == Measured::bandwidth ? 100'000 : 10'000;
  const std::size_t by_volume = (std::size_t{256} << 20) / std::max<std::size_t>(bytes, 1);
  return static_cast<int>(std::clamp<std::size_t>(by_volume, 20, most));
}

void add_perf_flags(CLI::App& command, PerfWords& words) {
  command.add_option("test", words.test, "what to measure, see below")->required();
  add_size_flags(command, words);
  command
      .add_option("-n,--iters", words.iterations,
                  "round trips or messages per size (default: latency 10000, bandwidth 100000, wake_lat 20; fewer for "
                  "large sizes)")
      ->check(CLI::PositiveNumber);
  command.add_option("-w,--warmup_iters", words.warmup, "untimed ones before them (default: a tenth)")
      ->check(CLI::NonNegativeNumber);
  command.add_option("-D,--depth", words.depth, "operations in flight, for bandwidth (default 64)")
      ->check(CLI::Range(1, 65536));
  command.add_option("-c,--check", words.checks, "checked exchanges per size, 0: none (default 1)")
      ->check(CLI::NonNegativeNumber);
  command
      .add_option("--memory", words.memory,
                  "private: buffers from malloc; shared: from godwit::allocate (default: shared for put, get and "
                  "atomics, else private)")
      ->check(CLI::IsMember({"private", "shared"}));
  command
      .add_option("--thread-mode", words.thread_mode,
                  "single or multiple: as ThreadMode of the context (default single; with -t multiple)")
      ->check(CLI::IsMember({"single", "multiple"}));
  command
      .add_option("-t,--threads", words.threads,
                  "msg_rate, send_bw: threads in each rank, each with a communicator and -D operations of its own; all "
                  "communicators of a context share its worker and the worker's lock (default 1)")
      ->check(CLI::Range(1, 1024));
  command.add_flag("--connect", words.connect,
                   "latency: every other rank exchanges a message with rank 0 first, so that rank 0 has that many "
                   "connections");
  command.add_option("--idle-ms", words.idle_ms, "wake_lat: milliseconds before each ping (default 1000)")
      ->check(CLI::NonNegativeNumber);
  command.add_option("-J,--output_file", words.json_file, "write the results to this JSON file");
  command.add_option("--report", words.html_file, "write a page with charts to this HTML file");
  command.footer(test_lines());
}

PerfOptions perf_options(const PerfWords& words) {
  const PerfTest& test = test_named(words.test);
  PerfOptions options{.test = test,
                      .sizes = sizes_of(test, words),
                      .iterations = words.iterations,
                      .warmup = words.warmup,
                      .depth = words.depth,
                      .checks = words.checks,
                      .memory = test.memory,
                      .threads = words.threads,
                      .connect = words.connect,
                      .idle_ms = words.idle_ms.value_or(1000),
                      .json_file = words.json_file,
                      .html_file = words.html_file};
  check_sizes(test, options.sizes);
  check_applies(options, words);
  if (!words.memory.empty()) options.memory = words.memory == "shared" ? MemoryKind::shared : MemoryKind::host;
  if (words.thread_mode == "multiple" || words.threads > 1) options.thread_mode = ThreadMode::multiple;
  return options;
}

}  // namespace godwit::apps
