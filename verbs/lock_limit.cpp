#include "verbs/lock_limit.hpp"

#include "core/text.hpp"

#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace godwit::verbs {
namespace {

bool may_lock_more() noexcept {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> sets{};
  return ::syscall(SYS_capget, &header, sets.data()) == 0 && (sets[0].effective & (1U << CAP_IPC_LOCK)) != 0;
}

std::uint64_t bytes_of(rlim_t limit) noexcept { return limit == RLIM_INFINITY ? LockLimit::unlimited : limit; }

}  // namespace

LockLimit lock_limit() noexcept {
  LockLimit limit;
  rlimit values{};
  if (::getrlimit(RLIMIT_MEMLOCK, &values) == 0) {
    limit.soft = bytes_of(values.rlim_cur);
    limit.hard = bytes_of(values.rlim_max);
  }
  limit.exempt = may_lock_more();
  return limit;
}

std::string limit_text(std::uint64_t bytes) {
  return bytes == LockLimit::unlimited ? "unlimited" : core::format_size(bytes);
}

std::string how_to_raise(const LockLimit& limit) {
  if (limit.hard == LockLimit::unlimited)
    return "run `ulimit -l unlimited` before the program, in the job script or the shell's start-up file of each host";
  return fmt::format(
      "the hard limit is {}, so an administrator must raise it on each host: \"* soft memlock unlimited\" and \"* hard "
      "memlock unlimited\" in /etc/security/limits.d/rdma.conf for logins; LimitMEMLOCK=infinity in the systemd unit "
      "of "
      "what starts the ranks (slurmd, sshd) and PropagateResourceLimitsExcept=MEMLOCK in slurm.conf; --ulimit "
      "memlock=-1 for containers. `ulimit -l` shows it",
      limit_text(limit.hard));
}

std::string lock_limit_warning(const LockLimit& limit, std::uint64_t least) {
  if (limit.soft >= least) return {};
  const std::string start = fmt::format("RLIMIT_MEMLOCK is {}", limit_text(limit.soft));
  if (limit.exempt)
    return start + "; this process may exceed it (CAP_IPC_LOCK), but soft-iWARP counts all the same. If registration " +
           "fails: " + how_to_raise(limit);
  return fmt::format(
      "{}: no more memory than that can be registered with RDMA adapters, and programs need {} or more. {}", start,
      core::format_size(least), "To raise it: " + how_to_raise(limit));
}

}  // namespace godwit::verbs
