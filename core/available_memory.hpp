// How much memory can be had before the kernel starts to kill. Asked before committing a lot at once, because the
// kernel does not refuse fallocate(2) beyond it. Threads: any.
#pragma once

#include <cstddef>
#include <string>

namespace godwit::core {

struct AvailableMemory {
  std::size_t bytes = 0;
  std::string limit;  // which limit that is, in words
};

/// The smaller of what the host and the control group (version 2) have left; all of the host's memory where /proc does
/// not tell.
AvailableMemory available_memory();

}  // namespace godwit::core
