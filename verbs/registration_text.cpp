#include "verbs/registration_text.hpp"

#include "core/text.hpp"

#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace godwit::verbs {
namespace {

std::string counted(std::uint64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string holdings(const RegistrationStatistics& statistics) {
  return fmt::format("registered now: {} ({}), of that {} ({}) by the cache",
                     counted(statistics.regions(), "region", "regions"), core::format_size(statistics.bytes()),
                     statistics.cached_regions, core::format_size(statistics.cached_bytes));
}

// The lockable memory of the process, or something of the adapter or the host, has run out.
std::string explain_no_memory(const RegistrationFailure& failure) {
  const LockLimit& limit = failure.limit;
  std::string text = holdings(failure.statistics);
  if (limit.soft != LockLimit::unlimited) {
    text += fmt::format("; RLIMIT_MEMLOCK is {}{}. To raise it: {}", limit_text(limit.soft),
                        limit.exempt ? " (which most drivers do not apply to this process: CAP_IPC_LOCK)" : "",
                        how_to_raise(limit));
    if (!limit.exempt) return text;
  }
  return text +
         ". The adapter may have no more regions (max_mr of ibv_devinfo -v) or the host too little memory: "
         "register fewer and larger regions, or lower GODWIT_IB_REG_CACHE_ENTRIES and GODWIT_IB_REG_CACHE_BYTES";
}

std::pair<ErrorCode, std::string> explain(const RegistrationFailure& failure) {
  switch (failure.error) {
    case ENOMEM:
    case ENOSPC: return {ErrorCode::no_memory, explain_no_memory(failure)};
    case EFAULT:
      return {
          ErrorCode::invalid_argument,
          "not all of it is mapped, or it is read-only and was to be written. Check the buffer's address and length"};
    case EINVAL:
      return {
          ErrorCode::invalid_argument,
          "it is longer than the adapter takes (max_mr_size of ibv_devinfo -v), or this access is not possible with "
          "this kind of memory"};
    case EBADF: return {ErrorCode::invalid_argument, "the descriptor is no dma-buf"};
    case EOPNOTSUPP:
    case ENOSYS:
    case ENOTTY:
    case EPROTONOSUPPORT:
      return {ErrorCode::not_supported,
              failure.dmabuf
                  ? "this adapter's driver or this kernel (5.12 or later is needed) does not register dma-bufs. "
                    "Copy through host memory instead"
                  : "the adapter's driver does not support this access"};
    default: return {ErrorCode::transport, holdings(failure.statistics)};
  }
}

}  // namespace

std::string to_text(const RegistrationStatistics& statistics) {
  return fmt::format("{}, {}, {}, {}, {}, {}, {}; {}; at most {} cached", counted(statistics.hits, "hit", "hits"),
                     counted(statistics.misses, "miss", "misses"), counted(statistics.merges, "merge", "merges"),
                     counted(statistics.evictions, "eviction", "evictions"),
                     counted(statistics.invalidations, "invalidation", "invalidations"),
                     counted(statistics.overflows, "overflow of notices", "overflows of notices"),
                     counted(statistics.failures, "failure", "failures"), holdings(statistics),
                     core::format_size(statistics.most_cached_bytes));
}

Status to_status(const RegistrationFailure& failure) {
  auto [code, words] = explain(failure);
  return Status(code, fmt::format("cannot register {} of {} at {:#x} with {} (access {:#x}): {}: {}",
                                  core::format_size(failure.bytes), failure.dmabuf ? "a dma-buf" : "memory",
                                  failure.address, failure.device, failure.access,
                                  failure.error != 0 ? std::strerror(failure.error) : "no reason given", words));
}

}  // namespace godwit::verbs
