// Flags of `godwit simulate`. Pure.
#pragma once

#include "common/shape.hpp"
#include "common/sizes.hpp"

#include <godwit/types.hpp>

#include <string>

namespace CLI {
class App;
}

namespace godwit::apps {

struct SimulateOptions {
  bool describe = false;
  std::string cluster_file;
  int ranks = 0, nodes = 0;  // 0: as the file says
  Benchmark benchmark = Benchmark::all_reduce;
  SizeRange sizes{.first = 8, .last = 128U << 20, .step = 1U << 20, .factor = 4};
  DataType type = DataType::float32;
  ReduceOp op = ReduceOp::sum;
  Rank root = 0;
  std::string algorithms;  // rules; empty: all are allowed
  bool compare = false, explain = false;
  double steps = 0;                      // allowed; 0: the default
  double parameters = 0, compute_s = 0;  // of a model in training; 0: no training
  std::size_t bucket = 25U << 20;
  std::string html_file;
};

/// The flags as words, until they are taken.
struct SimulateWords {
  SizeWords sweep;
  SimulateOptions options;
  std::string collective, type = "float", op = "sum", bucket, parameters;
  double compute_ms = 0;
};

void add_simulate_flags(CLI::App& command, SimulateWords& words);
/// Throws UsageError.
SimulateOptions simulate_options(const SimulateWords& words);

}  // namespace godwit::apps
