// The tests of `godwit perf` and their flags. Pure.
#pragma once

#include "common/sizes.hpp"

#include <godwit/types.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace godwit::apps {

enum class Exchanged { send, put, watched_put, get, active, atomic };
enum class Measured { latency, bandwidth, wake };

struct PerfTest {
  std::string_view name;
  Exchanged exchanged;
  Measured measured;
  SizeRange sizes;
  MemoryKind memory;
  std::string_view help;
};
const std::vector<PerfTest>& perf_tests();

struct PerfOptions {
  PerfTest test;
  SizeSweep sizes;
  int iterations = 0;  // 0: see iterations_for()
  std::optional<int> warmup = {};
  int depth = 64;
  int checks = 1;
  MemoryKind memory = MemoryKind::host;
  ThreadMode thread_mode = ThreadMode::single;
  int threads = 1;
  bool connect = false;
  int idle_ms = 1000;
  std::string json_file = {}, html_file = {};

  /// Do only ranks 0 and 1 measure?
  bool one_pair() const noexcept { return test.measured != Measured::bandwidth; }
  /// -n, or 10000 (bandwidth: 100000) and fewer where a size would take long: what moves 256 MiB, but at least 20.
  int iterations_for(std::size_t bytes) const noexcept;
  /// -w, or a tenth of them.
  int warmup_for(std::size_t bytes) const noexcept { return warmup.value_or(iterations_for(bytes) / 10); }
};

/// The flags as the user wrote them.
struct PerfWords {
  std::string test, first = {}, last = {}, step = {}, factor = {}, sizes = {}, json_file = {}, html_file = {};
  std::string memory = {}, thread_mode = {};
  int iterations = 0, depth = 64, checks = 1, threads = 1;
  std::optional<int> warmup = {}, idle_ms = {};
  bool connect = false;
};
void add_perf_flags(CLI::App& command, PerfWords& words);
/// Throws UsageError.
PerfOptions perf_options(const PerfWords& words);

}  // namespace godwit::apps
