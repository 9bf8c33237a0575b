#include "core/fence.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace godwit::core {

namespace {

long membarrier(int command) noexcept { return ::syscall(SYS_membarrier, command, 0, 0); }

}  // namespace

void full_fence() noexcept {
#if defined(__SANITIZE_THREAD__)  // it knows no fences; this is one on the machines that it runs on
  std::atomic<int> fence{0};
  fence.exchange(1, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

bool membarrier_works() noexcept {
  static const bool works =
      membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0 && membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED) == 0;
  return works;
}

void fence_everywhere() noexcept {
  full_fence();
  membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

}  // namespace godwit::core
