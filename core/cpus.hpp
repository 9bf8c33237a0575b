// The CPUs that the calling thread may run on, and the core they belong to: what a card says of them. Not hwloc:
// exploring a whole host takes milliseconds, and every rank makes a card. Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace godwit::core {

/// Ascending; empty with errno set when the kernel does not tell.
std::vector<int> allowed_cpus();
/// "0-3,8" as the kernel writes it -> {0, 1, 2, 3, 8}; empty when malformed.
std::vector<int> parse_cpu_list(std::string_view text);
/// The lowest CPU of the core that all of `cpus` belong to; nothing if there is no such core, or it is not known.
std::optional<int> core_of(const std::vector<int>& cpus);

}  // namespace godwit::core
