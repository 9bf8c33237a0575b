// How much memory a benchmark may use, and what -e becomes by that.
#pragma once

#include "common/sizes.hpp"

#include <cstddef>
#include <string>

namespace godwit::apps {

/// Bytes that this host can still give: MemAvailable of the kernel, and what the control group allows if that is
/// less. Throws std::runtime_error when /proc/meminfo cannot be read.
std::size_t available_memory();

struct MemoryPlan {
  std::size_t last = 0;  // -e as it will be used
  std::string note;      // why it is smaller than asked; empty if it is not
};

/// Each rank needs `buffers` buffers of the size that is measured, and has `per_rank` bytes for them (the least of
/// all hosts); a fifth of that is left to others. Throws godwit::Error(no_memory) when not even `first` fits. Pure.
MemoryPlan plan_memory(std::size_t first, std::size_t last, std::size_t buffers, std::size_t per_rank,
                       const SizeFlags& flags = {});

}  // namespace godwit::apps
