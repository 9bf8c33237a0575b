// Flags of the *_perf programs; letters and meaning are those of nccl-tests. Pure.
#pragma once

#include "common/shape.hpp"
#include "common/sizes.hpp"

#include <optional>
#include <string>
#include <vector>

namespace godwit::apps {

/// -z: what each rank waits for.
enum class Blocking {
  per_group = 0,         // the m operations of an iteration are in flight together
  barrier_per_call = 1,  // wait and barrier after each operation, both timed
  per_call = 2,          // wait after each operation
  barrier_untimed = 3,   // as per_group, then a barrier after the iteration that is not timed
};

/// -a: which rank's time the table shows.
enum class Average { rank0 = 0, mean = 1, min = 2, max = 3 };

struct CollectiveOptions {
  SizeRange sizes;
  std::vector<DataType> types{DataType::float32};
  std::vector<ReduceOp> ops{ReduceOp::sum};
  std::optional<int> root = 0;  // nothing: all of them in turn
  int iterations = 20;
  int warmup = 1;
  int aggregate = 1;
  int cycles = 1;
  int checks = 1;
  Blocking blocking = Blocking::per_group;
  Average average = Average::mean;
  int unalign = 0;  // elements by which both buffers are displaced
  std::string json_file, html_file;
};

/// Throws UsageError and TextRequested. `words`: without the program's name.
CollectiveOptions parse_collective_options(Benchmark benchmark, const std::vector<std::string>& words);

}  // namespace godwit::apps
