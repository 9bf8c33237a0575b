// Full fences, of this thread and of everybody. Threads: any.
#pragma once

namespace godwit::core {

/// Orders an earlier store before a later load.
void full_fence() noexcept;
/// Can other processes make this one execute a full fence (membarrier(2))? Asks once and registers the process; false
/// where the kernel or a seccomp filter refuses it.
bool membarrier_works() noexcept;
/// A full fence here, and in all processes in which membarrier_works().
void fence_everywhere() noexcept;

}  // namespace godwit::core
