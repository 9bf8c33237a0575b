// What the registrar has to say: its counts, and why memory could not be registered. Pure functions.
#pragma once

#include "verbs/lock_limit.hpp"

#include <godwit/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace godwit::verbs {

/// Counts of one registrar since it was made; bytes and regions are those of now.
struct RegistrationStatistics {
  std::uint64_t hits = 0, misses = 0, evictions = 0, invalidations = 0, merges = 0, overflows = 0, failures = 0;
  std::size_t cached_regions = 0, cached_bytes = 0;  // also those in use
  std::size_t explicit_regions = 0, explicit_bytes = 0;
  std::size_t most_cached_bytes = 0;  // the most there ever was
  std::size_t regions() const noexcept { return cached_regions + explicit_regions; }
  std::size_t bytes() const noexcept { return cached_bytes + explicit_bytes; }
};

/// "12 hits, 3 misses, ...": one line.
std::string to_text(const RegistrationStatistics& statistics);

struct RegistrationFailure {
  std::string device;
  std::uintptr_t address = 0;
  std::size_t bytes = 0;
  int access = 0;  // IBV_ACCESS_*
  int error = 0;   // errno
  bool dmabuf = false;
  LockLimit limit{};
  RegistrationStatistics statistics{};
};

/// no_memory, invalid_argument, not_supported or transport, with device, memory, cause and what to do.
Status to_status(const RegistrationFailure& failure);

}  // namespace godwit::verbs
