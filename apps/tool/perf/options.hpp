// The tests of `godwit perf` and their flags. Pure.
#pragma once

#include "common/sizes.hpp"

#include <godwit/types.hpp>
#include <godwit/window.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace godwit::apps {

enum class Exchanged { send, put, watched_put, write, get, active, atomic };
enum class Measured { latency, bandwidth, wake };
inline constexpr SizeFlags perf_size_flags{
    .first = "--minbytes", .last = "--maxbytes", .step = "--stepbytes", .factor = "--stepfactor"};
/// How a test is run and what its table looks like: as perftest does it (tool/perf/perftest_run.hpp), or our own way
/// for any number of ranks (tool/perf/runner.hpp).
enum class Form { own, perftest };

struct PerfTest {
  std::string_view name;
  Exchanged exchanged;
  Measured measured;
  SizeRange sizes;  // of our own form
  MemoryKind memory;
  std::string_view help;
  std::string_view title = {};   // perftest's; empty: perftest has no such test
  Form form_in_job = Form::own;  // under a launcher
};
const std::vector<PerfTest>& perf_tests();

/// What the flags of one adapter say, as the user wrote it; empty: not said.
struct AdapterWords {
  std::string device = {};
  std::optional<int> port = {}, gid_index = {}, mtu = {}, queue_pairs = {}, inline_bytes = {};
  bool rdma_cm = false;
};
/// The options of a context that these stand for, by name without prefix. Throws UsageError.
std::map<std::string, std::string> adapter_options(const AdapterWords& words);

/// What atomic_lat does, and who executes it; nothing: the adapter where verbs connects the two.
struct AtomicChoice {
  bool swaps = false;
  std::optional<Atomics> by = {};
};

struct PerfOptions {
  PerfTest test;
  Form form = Form::own;
  SizeSweep sizes;
  int iterations = 0;     // 0: see iterations_for()
  double duration_s = 0;  // above 0: instead of iterations
  std::optional<int> warmup = {};
  int depth = 64;
  int post_list = 1;
  bool bidirectional = false;
  int checks = 1;
  MemoryKind memory = MemoryKind::host;
  ThreadMode thread_mode = ThreadMode::single;
  int threads = 1;
  bool connect = false;
  int idle_ms = 1000;
  bool each_sample = false, unsorted = false;  // -H, -U
  bool json_to_stdout = false;
  std::string json_file = {}, html_file = {};
  AtomicChoice atomic = {};
  AdapterWords adapter = {};
  std::string server = {};  // at a client without a launcher
  std::uint16_t port = 18515;

  /// Do only ranks 0 and 1 measure?
  bool one_pair() const noexcept { return test.measured != Measured::bandwidth || form == Form::perftest; }
  /// -n, or else in perftest's form 1000 (write_bw: 5000); in ours 10000 (bandwidth: 100000) and fewer where a size
  /// would take long: what moves 256 MiB, but at least 20.
  int iterations_for(std::size_t bytes) const noexcept;
  /// -w, or a tenth of them.
  int warmup_for(std::size_t bytes) const noexcept { return warmup.value_or(iterations_for(bytes) / 10); }
};

/// The flags as the user wrote them.
struct PerfWords {
  std::string test = {}, server = {}, size = {}, sizes = {};
  std::string json_file = {}, html_file = {}, perftest_json_file = {}, memory = {}, thread_mode = {}, table = {},
              connection = {}, atomic_type = {}, atomics = {};
  bool all_sizes = false, bidirectional = false, connect = false, each_sample = false, unsorted = false;
  bool perftest_json = false, json_to_stdout = false, any_frequency = false;
  int iterations = 0, checks = 1, threads = 1, port = 18515;
  double duration_s = 0;
  std::optional<int> warmup = {}, idle_ms = {}, depth = {}, post_list = {};
  SizeWords sweep = {};
  AdapterWords adapter = {};
};
void add_perf_flags(CLI::App& command, PerfWords& words);
/// `in_job`: a launcher has started this process. Throws UsageError.
PerfOptions perf_options(const PerfWords& words, bool in_job = true);

}  // namespace godwit::apps
