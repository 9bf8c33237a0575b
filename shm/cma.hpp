// Cross-memory attach: process_vm_readv(2) and process_vm_writev(2) on a peer's private memory.
// Threads: any; constant once made.
#pragma once

#include <godwit/error.hpp>

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace godwit::shm {

/// A random value at an address that the peer tells us: reading it proves that the process behind the number is
/// the peer, and that the kernel lets us.
using Nonce = std::array<std::byte, 16>;

class Cma {
 public:
  /// Not available, because of `reason`.
  explicit Cma(std::string reason = "not connected") : reason_(std::move(reason)) {}
  /// Reads the peer's nonce. `pid` as our namespace counts; 0: it does not know the process.
  static Cma probe(pid_t pid, std::uint64_t nonce_address, const Nonce& expected);

  /// Seconds that a system call of a few bytes costs on this host, from the fastest of some on ourselves; measured
  /// once. 0: the kernel refuses it.
  static double overhead_s() noexcept;

  bool works() const noexcept { return pid_ != 0; }
  const std::string& reason() const noexcept { return reason_; }
  pid_t pid() const noexcept { return pid_; }

  /// Copy all of it or say in words why not: peer_failed when the process is gone, transport otherwise.
  Status read(std::span<std::byte> local, std::uint64_t remote) const;
  Status write(std::span<const std::byte> local, std::uint64_t remote) const;

 private:
  pid_t pid_ = 0;
  std::string reason_;
};

}  // namespace godwit::shm
