#include "core/available_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string_view>

namespace godwit::core {
namespace {

// Value of a line "key value" or "key: value".
std::optional<std::size_t> value_in(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  std::string word;
  std::size_t value = 0;
  for (std::string line; file >> word && std::getline(file, line);)
    if (word == key) return value = std::stoull(line), value;
  return std::nullopt;
}

// The one number of a file; nothing for "max".
std::optional<std::size_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::size_t value = 0;
  return file >> value ? std::optional(value) : std::nullopt;
}

// In a container the own group is usually shown as the root.
std::string own_control_group() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::")) return "/sys/fs/cgroup" + line.substr(3);
  return "/sys/fs/cgroup";
}

}  // namespace

AvailableMemory available_memory() {
  AvailableMemory least{
      static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)),
      "the memory of this host"};
  if (const auto kib = value_in("/proc/meminfo", "MemAvailable:"))
    least = {*kib * 1024 + value_in("/proc/meminfo", "SwapFree:").value_or(0) * 1024, "the memory of this host"};
  const std::string group = own_control_group();
  const auto limit = number_in(group + "/memory.max");
  if (!limit) return least;
  // Cached files give way; shared memory counts as file cache, but does not.
  const std::size_t cached = value_in(group + "/memory.stat", "file").value_or(0);
  const std::size_t shared = value_in(group + "/memory.stat", "shmem").value_or(0);
  const std::size_t reclaimable = cached > shared ? cached - shared : 0;
  const std::size_t current = number_in(group + "/memory.current").value_or(0);
  const std::size_t used = current > reclaimable ? current - reclaimable : 0;
  const std::size_t left = *limit > used ? *limit - used : 0;
  if (left < least.bytes)
    least = {left, "memory.max of this control group (docker --memory, Slurm --mem, Kubernetes limits)"};
  return least;
}

}  // namespace godwit::core
