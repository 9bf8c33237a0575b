#include "common/memory.hpp"

#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <godwit/error.hpp>
#include <optional>
#include <stdexcept>

namespace godwit::apps {

namespace {

std::optional<std::size_t> number_in(const std::string& path) {
  std::size_t value = 0;
  if (std::ifstream(path) >> value) return value;
  return std::nullopt;  // no such limit, or "max"
}

/// What the control group of this process still allows; nothing without a limit.
std::optional<std::size_t> control_group_allows() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::")) continue;
    const std::string folder = "/sys/fs/cgroup" + line.substr(3);
    const auto limit = number_in(folder + "/memory.max");
    const auto used = number_in(folder + "/memory.current");
    if (limit && used) return *limit - std::min(*limit, *used);
  }
  return std::nullopt;
}

}  // namespace

std::size_t available_memory() {
  std::ifstream meminfo("/proc/meminfo");
  std::size_t kilobytes = 0;
  for (std::string line; std::getline(meminfo, line);)
    if (line.starts_with("MemAvailable:")) kilobytes = std::stoull(line.substr(13));
  if (kilobytes == 0) throw std::runtime_error("/proc/meminfo does not say how much memory is available");
  const std::size_t free = kilobytes * 1024;
  return std::min(free, control_group_allows().value_or(free));
}

MemoryPlan plan_memory(std::size_t first, std::size_t last, std::size_t buffers, std::size_t per_rank,
                       const SizeFlags& flags) {
  const std::size_t largest = per_rank / 5 * 4 / buffers;
  if (last <= largest) return {.last = last, .note = {}};
  const auto explain = [&](std::size_t bytes) {
    return fmt::format("{} buffers of {} take {:.0f} bytes on each rank, and {} bytes a rank are available", buffers,
                       core::format_size(bytes), static_cast<double>(bytes) * static_cast<double>(buffers), per_rank);
  };
  if (first > largest)
    throw Error(ErrorCode::no_memory, fmt::format("{} {}: {}; use smaller sizes, or fewer ranks on a host", flags.first,
                                                  core::format_size(first), explain(first)));
  return {
      .last = largest,
      .note = fmt::format("{} {} is cut to {} bytes: {}", flags.last, core::format_size(last), largest, explain(last))};
}

}  // namespace godwit::apps
