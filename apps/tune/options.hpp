// What `godwit tune` was asked for. Pure.
#pragma once

#include "common/shape.hpp"
#include "common/sizes.hpp"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace godwit::apps {

struct TuneOptions {
  std::vector<Benchmark> benchmarks;  // collectives
  SizeRange sizes{.first = 8, .last = 16U << 20, .step = 1, .factor = 4};
  int rounds = 7;
  double round_s = 0.01;  // time that an algorithm gets in a round, about
  std::string file;       // empty: only printed
};

struct TuneWords {
  SizeWords sweep;
  std::string collectives, file;
  int rounds = 7;
  double round_ms = 10;
};
void add_tune_flags(CLI::App& command, TuneWords& words);
/// Throws UsageError.
TuneOptions tune_options(const TuneWords& words);

}  // namespace godwit::apps
