#include "shm/cma.hpp"

#include <fmt/format.h>
#include <sys/uio.h>

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

namespace godwit::shm {
namespace {

using Transfer = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);

// The kernel may stop early (at 2 GiB, or where a page is missing): go on from there.
// Returns 0 or the error; `done` says how far it came.
int transfer_all(Transfer transfer, pid_t pid, std::byte* local, std::uint64_t remote, std::size_t bytes,
                 std::size_t& done) noexcept {
  for (done = 0; done < bytes;) {
    const iovec here{local + done, bytes - done};
    const iovec there{reinterpret_cast<void*>(remote + done), bytes - done};  // NOLINT: the peer's address
    const ssize_t moved = transfer(pid, &here, 1, &there, 1, 0);
    if (moved <= 0) return moved == 0 ? EFAULT : errno;
    done += static_cast<std::size_t>(moved);
  }
  return 0;
}

Status failure(const char* what, pid_t pid, std::uint64_t remote, std::size_t bytes, std::size_t done, int error) {
  const auto text = [&](std::string_view cause) {
    return fmt::format("{} of {} bytes at {:#x} of process {} failed after {} bytes: {} ({})", what, bytes, remote, pid,
                       done, std::strerror(error), cause);
  };
  if (error == ESRCH) return {ErrorCode::peer_failed, text("the peer's process is gone")};
  if (error == EFAULT)
    return {ErrorCode::transport,
            text("that memory is not mapped, at the peer or here: a region or buffer was given back too early")};
  return {ErrorCode::transport, text("the kernel refuses what it allowed when the peers connected")};
}

std::string refusal(int error) {
  switch (error) {
    case EPERM:
      return "process_vm_readv is not permitted here (ptrace scope, different users, or a container's seccomp profile: "
             "allow SYS_PTRACE)";
    case ENOSYS: return "process_vm_readv does not exist in this kernel";
    case ESRCH: return "the peer's process is not visible in our PID namespace";
    default: return fmt::format("process_vm_readv fails: {}", std::strerror(error));
  }
}

}  // namespace

Cma Cma::probe(pid_t pid, std::uint64_t nonce_address, const Nonce& expected) {
  if (pid == 0) return Cma(refusal(ESRCH));
  Nonce seen{};
  std::size_t done = 0;
  const int error = transfer_all(&::process_vm_readv, pid, seen.data(), nonce_address, seen.size(), done);
  if (error != 0) return Cma(refusal(error));
  if (seen != expected) return Cma(fmt::format("process {} of our PID namespace is not the peer", pid));
  Cma cma("");
  cma.pid_ = pid;
  return cma;
}

double Cma::overhead_s() noexcept {
  static const double fastest = [] {
    using Clock = std::chrono::steady_clock;
    constexpr int tries = 20;
    constexpr std::size_t bytes = 64;
    std::array<std::byte, bytes> from{}, to{};
    double best = 0;
    for (int i = 0; i < tries; ++i) {
      std::size_t done = 0;
      const auto start = Clock::now();
      if (transfer_all(&::process_vm_readv, ::getpid(), to.data(), reinterpret_cast<std::uint64_t>(from.data()), bytes,
                       done) != 0)
        return 0.0;
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      if (best == 0 || seconds < best) best = seconds;
    }
    return best;
  }();
  return fastest;
}

Status Cma::read(std::span<std::byte> local, std::uint64_t remote) const {
  std::size_t done = 0;
  const int error = transfer_all(&::process_vm_readv, pid_, local.data(), remote, local.size(), done);
  return error == 0 ? Status() : failure("reading", pid_, remote, local.size(), done, error);
}

Status Cma::write(std::span<const std::byte> local, std::uint64_t remote) const {
  std::size_t done = 0;
  auto* from = const_cast<std::byte*>(local.data());  // iovec has no const; the kernel only reads
  const int error = transfer_all(&::process_vm_writev, pid_, from, remote, local.size(), done);
  return error == 0 ? Status() : failure("writing", pid_, remote, local.size(), done, error);
}

}  // namespace godwit::shm
