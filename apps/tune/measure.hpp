// Measures algorithms side by side on the running job. Every rank calls everything here. One thread.
#pragma once

#include "collective_perf/operands.hpp"

#include <godwit/communicator.hpp>
#include <godwit/memory.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace godwit::apps {

struct AlgorithmTime {
  std::string algorithm;
  double seconds = 0;  // of one call on the slowest rank, median of the rounds
};

class Bench {
 public:
  /// `most_bytes`: the largest case.
  Bench(Communicator world, std::size_t most_bytes);

  struct Result {
    std::string chosen;                   // by predicted costs; empty: by flags in shared memory, nothing was measured
    std::vector<AlgorithmTime> measured;  // the fastest first
  };
  /// Takes the algorithms by turns. One that needs many times as long as another is left out after the first time.
  Result measure(const Case& what, int rounds, double round_s);

 private:
  Communicator& with(const Case& what, const std::string& algorithm);
  double time(Communicator& communicator, const CollectiveCall& call, int calls);

  Communicator world_;
  shared_vector<std::byte> send_, recv_;
  std::map<std::string, Communicator> communicators_;  // by rule
};

}  // namespace godwit::apps
