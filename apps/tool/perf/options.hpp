// The tests of `godwit perf` and their flags. Pure.
#pragma once

#include "common/sizes.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace godwit::apps {

enum class Exchanged { send, put, get, active, atomic };

struct PerfTest {
  std::string_view name;
  Exchanged exchanged;
  bool latency;  // else bandwidth and message rate
  SizeRange sizes;
  std::string_view help;
};
const std::vector<PerfTest>& perf_tests();

struct PerfOptions {
  PerfTest test;
  SizeRange sizes;
  int iterations = 0;  // 0: see iterations_for()
  int warmup = 10;
  int depth = 64;
  int checks = 1;
  std::string json_file = {};

  /// -n, or 1000 and fewer where a size would take long: what moves 256 MiB, but at least 20.
  int iterations_for(std::size_t bytes) const noexcept;
};

/// The flags as the user wrote them.
struct PerfWords {
  std::string test, first = {}, last = {}, step = {}, factor = {}, json_file = {};
  int iterations = 0, warmup = 10, depth = 64, checks = 1;
};
void add_perf_flags(CLI::App& command, PerfWords& words);
/// Throws UsageError.
PerfOptions perf_options(const PerfWords& words);

}  // namespace godwit::apps
