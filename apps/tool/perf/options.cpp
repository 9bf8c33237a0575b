#include "tool/perf/options.hpp"

#include "common/usage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

namespace godwit::apps {

namespace {

constexpr std::size_t kilo = 1024, mega = 1024 * 1024;
constexpr SizeRange wide{.first = 8, .last = 4 * mega, .step = mega, .factor = 2};
constexpr SizeRange small{.first = 8, .last = 4 * kilo, .step = kilo, .factor = 2};
constexpr SizeRange word{.first = 8, .last = 8, .step = 4, .factor = 2};

std::string test_names() {
  std::vector<std::string_view> names;
  for (const PerfTest& test : perf_tests()) names.push_back(test.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string test_lines() {
  std::string text = "Tests:\n";
  for (const PerfTest& test : perf_tests()) text += fmt::format("  {:<12}{}\n", test.name, test.help);
  return text +
         "Latency is measured between ranks 0 and 1. Bandwidth and message rate are measured between ranks i and\n"
         "i + n/2, all pairs at once (of an odd number the last rank rests), and added up.";
}

const PerfTest& test_named(std::string_view name) {
  for (const PerfTest& test : perf_tests())
    if (test.name == name) return test;
  throw UsageError(fmt::format("perf {}: no such test; there are {}", name, test_names()));
}

}  // namespace

const std::vector<PerfTest>& perf_tests() {
  static const std::vector<PerfTest> tests = {
      {"send_lat", Exchanged::send, true, wide, "ping-pong of messages; half round trip"},
      {"send_bw", Exchanged::send, false, wide, "messages one way, -D in flight"},
      {"put_lat", Exchanged::put, true, wide, "ping-pong of puts with notification; half round trip"},
      {"put_bw", Exchanged::put, false, wide, "puts one way, -D in flight, flushed at the end"},
      {"get_lat", Exchanged::get, true, wide, "one get after the other; until the data is there"},
      {"get_bw", Exchanged::get, false, wide, "gets, -D in flight"},
      {"am_lat", Exchanged::active, true, small, "ping-pong of active messages; half round trip"},
      {"atomic_lat", Exchanged::atomic, true, word, "fetch-and-add of 8 (or 4) bytes; until the value is there"},
      {"msg_rate", Exchanged::send, false, small, "messages one way, -D in flight; small sizes"},
  };
  return tests;
}

int PerfOptions::iterations_for(std::size_t bytes) const noexcept {
  if (iterations > 0) return iterations;
  const std::size_t by_volume = 256 * mega / std::max<std::size_t>(bytes, 1);
  return static_cast<int>(std::clamp<std::size_t>(by_volume, 20, 1000));
}

void add_perf_flags(CLI::App& command, PerfWords& words) {
  command.add_option("test", words.test, "what to measure, see below")->required();
  command.add_option("-b,--minbytes", words.first, "first size: 8, 4K, 64M, 8G (default 8)");
  command.add_option("-e,--maxbytes", words.last, "last size (default 4M; am_lat, msg_rate: 4K; atomic_lat: 8)");
  command.add_option("-i,--stepbytes", words.step, "distance between sizes, instead of -f");
  command.add_option("-f,--stepfactor", words.factor, "factor between sizes (default 2)");
  command
      .add_option("-n,--iters", words.iterations, "round trips or messages per size (default 1000, fewer for large)")
      ->check(CLI::PositiveNumber);
  command.add_option("-w,--warmup_iters", words.warmup, "untimed ones before them (default 10)")
      ->check(CLI::NonNegativeNumber);
  command.add_option("-D,--depth", words.depth, "operations in flight, for bandwidth (default 64)")
      ->check(CLI::Range(1, 65536));
  command.add_option("-c,--check", words.checks, "checked exchanges per size, 0: none (default 1)")
      ->check(CLI::NonNegativeNumber);
  command.add_option("-J,--output_file", words.json_file, "write the results to this JSON file");
  command.footer(test_lines());
}

PerfOptions perf_options(const PerfWords& words) {
  const PerfTest& test = test_named(words.test);
  PerfOptions options{.test = test,
                      .sizes = test.sizes,
                      .iterations = words.iterations,
                      .warmup = words.warmup,
                      .depth = words.depth,
                      .checks = words.checks,
                      .json_file = words.json_file};
  SizeRange& sizes = options.sizes;
  if (!words.first.empty()) sizes.first = parse_size_flag("-b", words.first);
  if (!words.last.empty()) sizes.last = parse_size_flag("-e", words.last);
  if (words.last.empty()) sizes.last = std::max(sizes.first, sizes.last);
  if (!words.step.empty()) sizes.step = parse_size_flag("-i", words.step), sizes.factor = 1;
  if (!words.factor.empty()) sizes.factor = parse_size_flag("-f", words.factor);
  sizes.check();
  for (std::optional<std::size_t> size = sizes.first; test.exchanged == Exchanged::atomic && size;
       size = sizes.next(*size))
    if (*size != 4 && *size != 8) throw UsageError(fmt::format("atomic_lat: words have 4 or 8 bytes, not {}", *size));
  return options;
}

}  // namespace godwit::apps
