#include "shm/bell.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <godwit/error.hpp>

#include <cerrno>
#include <cstring>

namespace godwit::shm {
namespace {

void write_event(int fd) noexcept {
  const std::uint64_t one = 1;
  // Fails only when the counter is full: it is readable then.
  [[maybe_unused]] const auto written = ::write(fd, &one, sizeof(one));
}

// Wakes the sleeper whose number was seen, and only that one.
void wake_sleep(std::uint32_t& asleep, std::uint32_t sleep, int event) noexcept {
  write_event(event);
  std::atomic_ref(asleep).compare_exchange_strong(sleep, 0);
}

}  // namespace

Bell::Bell(bool use_membarrier)
    : page_(core::SharedMemory::create(sizeof(BellPage), "godwit-bell")),
      event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      membarrier_(use_membarrier && core::membarrier_works()) {
  if (!event_)
    throw Error(ErrorCode::no_memory,
                fmt::format("no eventfd for the shared-memory transport: {}; limit: ulimit -n", std::strerror(errno)));
}

void Bell::begin_sleep() noexcept {
  if (++sleeps_ == 0) ++sleeps_;
  auto* page = reinterpret_cast<BellPage*>(page_.data());
  std::atomic_ref(page->asleep).store(sleeps_, std::memory_order_seq_cst);
  if (membarrier_)
    core::fence_everywhere();
  else
    core::full_fence();  // against our own threads, and peers that fence
}

void Bell::end_sleep() noexcept {
  auto* page = reinterpret_cast<BellPage*>(page_.data());
  std::atomic_ref(page->asleep).store(0, std::memory_order_relaxed);
  std::uint64_t count = 0;
  // Nothing to read when nobody has rung.
  [[maybe_unused]] const auto taken = ::read(event_.get(), &count, sizeof(count));
}

void Bell::wake() noexcept {
  core::full_fence();
  auto* page = reinterpret_cast<BellPage*>(page_.data());
  const std::uint32_t sleep = std::atomic_ref(page->asleep).load(std::memory_order_relaxed);
  if (sleep != 0) wake_sleep(page->asleep, sleep, event_.get());
}

void PeerBell::wake(std::uint32_t sleep) noexcept { wake_sleep(*asleep_, sleep, event_.get()); }

}  // namespace godwit::shm
