// The machine that a benchmark ran on, in words. One thread; reads /proc and /sys.
#pragma once

#include <string>

namespace godwit::apps {

struct Machine {
  std::string cpu;
  int cpus = 0;
  std::string caches, memory, kernel;
  std::string virtual_machine;  // "no", or which
  std::string pinning;          // which rank ran where
};

/// Empty where the kernel does not tell; without `pinning`.
Machine this_machine();

}  // namespace godwit::apps
