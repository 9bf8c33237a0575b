#include "tool/perf/options.hpp"

#include "common/usage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace godwit::apps {

namespace {

std::string test_names() {
  std::vector<std::string_view> names;
  for (const PerfTest& test : perf_tests()) names.push_back(test.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

const PerfTest& test_named(std::string_view name) {
  for (const PerfTest& test : perf_tests())
    if (test.name == name) return test;
  throw UsageError(fmt::format("perf {}: no such test; there are {}", name, test_names()));
}

Form form_of(const PerfTest& test, const PerfWords& words, bool in_job) {
  if (words.table == "perftest" && test.title.empty())
    throw UsageError(fmt::format("{}: perftest has no such test; leave --table out", test.name));
  if (!words.table.empty()) return words.table == "perftest" ? Form::perftest : Form::own;
  if (!in_job && !test.title.empty()) return Form::perftest;
  return test.form_in_job;
}

/// Sizes of perftest's form when none is given.
SizeRange usual_sizes(const PerfTest& test) {
  if (test.exchanged == Exchanged::atomic) return test.sizes;
  const std::size_t size = test.measured == Measured::latency ? 2 : 64 * 1024;
  return {.first = size, .last = size, .step = 1, .factor = 2};
}

SizeSweep sizes_of(const PerfTest& test, Form form, const PerfWords& words) {
  SizeSweep sizes{.range = form == Form::perftest ? usual_sizes(test) : test.sizes};
  const bool swept = words.sweep.any();
  const int ways = (swept ? 1 : 0) + (words.sizes.empty() ? 0 : 1) + (words.size.empty() ? 0 : 1) + words.all_sizes;
  if (ways > 1)
    throw UsageError(
        "give sizes in one way: -s, -a, --sizes, or --minbytes with --maxbytes, --stepbytes, --stepfactor");
  SizeRange& range = sizes.range;
  if (!words.sizes.empty()) sizes.list = parse_size_list("--sizes", words.sizes);
  if (!words.size.empty()) range.first = range.last = parse_size_flag("-s", words.size);
  if (words.all_sizes) range = {.first = 2, .last = 8U << 20, .step = 1, .factor = 2};
  if (!swept) return sizes;
  take_words(range, words.sweep, perf_size_flags);
  if (words.sweep.last.empty()) range.last = std::max(range.first, range.last);
  range.check(perf_size_flags);
  return sizes;
}

void check_sizes(const PerfTest& test, const SizeSweep& sizes) {
  sizes.for_each([&test](std::size_t size) {
    if (test.exchanged == Exchanged::atomic && size != 4 && size != 8)
      throw UsageError(fmt::format("{}: words have 4 or 8 bytes, not {}", test.name, size));
    if (test.exchanged == Exchanged::watched_put && (size == 0 || size % 8 != 0))
      throw UsageError(
          fmt::format("{}: the target watches the last word, so sizes are multiples of 8, not {}", test.name, size));
    if (test.exchanged == Exchanged::write && size == 0)
      throw UsageError(fmt::format("{}: the target watches the last byte, so there must be one; try -s 1", test.name));
    if (test.exchanged == Exchanged::get && size == 0)
      throw UsageError(fmt::format("{}: a get of 0 bytes measures nothing; try -s 1", test.name));
  });
}

void check_applies(const PerfOptions& options, const PerfWords& words) {
  const auto only_for = [&](bool wrong, std::string_view flag, std::string_view what) {
    if (wrong) throw UsageError(fmt::format("{}: {} is for {}", options.test.name, flag, what));
  };
  const bool bandwidth = options.test.measured == Measured::bandwidth;
  const bool latency = options.test.measured == Measured::latency;
  const bool perftest = options.form == Form::perftest;
  only_for(words.bidirectional && !bandwidth, "-b",
           "bandwidth tests: both ways at once (sizes: --minbytes, --maxbytes)");
  only_for(words.depth && !bandwidth, "-t", "bandwidth tests: operations in flight");
  only_for(words.post_list && !bandwidth, "-l", "bandwidth tests: operations started in a row");
  only_for((words.each_sample || words.unsorted) && !latency, "-H", "latency tests: every sample");
  only_for(words.connect && !latency, "--connect", "the latency tests: all ranks of this one measure");
  only_for(words.threads > 1 && (!bandwidth || options.test.exchanged != Exchanged::send), "--threads",
           "msg_rate and send_bw");
  const bool atomic = options.test.exchanged == Exchanged::atomic;
  only_for(!words.atomic_type.empty() && !atomic, "-A", "atomic_lat: which atomic");
  only_for(!words.atomics.empty() && !atomic, "--atomics", "atomic_lat: who executes them");
  only_for(words.idle_ms && options.test.measured != Measured::wake, "--idle-ms", "wake_lat");
  if (words.threads > 1 && words.thread_mode == "single")
    throw UsageError(fmt::format("--threads {}: several threads need --thread-mode multiple", words.threads));

  constexpr std::string_view theirs = "perftest's table; add --table perftest";
  constexpr std::string_view ours = "our own table; add --table godwit";
  only_for(words.bidirectional && !perftest, "-b", theirs);
  only_for(words.duration_s > 0 && !perftest, "-D", "perftest's table (in flight: -t); add --table perftest");
  only_for(words.post_list && !perftest, "-l", theirs);
  only_for((words.each_sample || words.unsorted) && !perftest, "-H", theirs);
  only_for(words.json_to_stdout && !perftest, "--json", theirs);
  only_for(words.connect && perftest, "--connect", ours);
  only_for(words.threads > 1 && perftest, "--threads", ours);
  if (words.duration_s > 0 && words.iterations > 0) throw UsageError("-n and -D: give one of them");
  if (options.post_list > options.depth)
    throw UsageError(fmt::format("-l {}: more than are in flight (-t {})", options.post_list, options.depth));
}

std::string json_file(const PerfWords& words) {
  const bool theirs = words.perftest_json || !words.perftest_json_file.empty();
  if (theirs && !words.json_file.empty()) throw UsageError("-J and --out_json: give one of them");
  if (!theirs) return words.json_file;
  return words.perftest_json_file.empty() ? "perftest_out.json" : words.perftest_json_file;
}

}  // namespace

int PerfOptions::iterations_for(std::size_t bytes) const noexcept {
  if (iterations > 0) return iterations;
  if (test.measured == Measured::wake) return 20;
  if (form == Form::perftest)
    return test.exchanged == Exchanged::put && test.measured == Measured::bandwidth ? 5000 : 1000;
  const std::size_t most = test.measured == Measured::bandwidth ? 100'000 : 10'000;
  const std::size_t by_volume = (std::size_t{256} << 20) / std::max<std::size_t>(bytes, 1);
  return static_cast<int>(std::clamp<std::size_t>(by_volume, 20, most));
}

PerfOptions perf_options(const PerfWords& words, bool in_job) {
  const PerfTest& test = test_named(words.test);
  if (in_job && !words.server.empty())
    throw UsageError(
        fmt::format("perf {} {}: a server is named without a launcher only, and one has started this process; leave "
                    "'{}' out",
                    words.test, words.server, words.server));
  const Form form = form_of(test, words, in_job);
  PerfOptions options{.test = test,
                      .form = form,
                      .sizes = sizes_of(test, form, words),
                      .iterations = words.iterations,
                      .duration_s = words.duration_s,
                      .warmup = words.warmup,
                      .depth = words.depth.value_or(form == Form::perftest ? 128 : 64),
                      .post_list = words.post_list.value_or(1),
                      .bidirectional = words.bidirectional,
                      .checks = words.checks,
                      .memory = test.memory,
                      .threads = words.threads,
                      .connect = words.connect,
                      .idle_ms = words.idle_ms.value_or(1000),
                      .each_sample = words.each_sample || words.unsorted,
                      .unsorted = words.unsorted,
                      .json_to_stdout = words.json_to_stdout,
                      .json_file = json_file(words),
                      .html_file = words.html_file,
                      .atomic = {.swaps = words.atomic_type == "CMP_AND_SWAP"},
                      .adapter = words.adapter,
                      .server = words.server,
                      .port = static_cast<std::uint16_t>(words.port)};
  adapter_options(words.adapter);  // throws for what cannot be
  check_sizes(test, options.sizes);
  check_applies(options, words);
  if (!words.atomics.empty()) options.atomic.by = words.atomics == "adapter" ? Atomics::adapter : Atomics::target;
  if (!words.memory.empty()) options.memory = words.memory == "shared" ? MemoryKind::shared : MemoryKind::host;
  if (words.thread_mode == "multiple" || words.threads > 1) options.thread_mode = ThreadMode::multiple;
  return options;
}

}  // namespace godwit::apps
