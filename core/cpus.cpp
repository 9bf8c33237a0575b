#include "core/cpus.hpp"

#include <fmt/format.h>

#include <sched.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <string>

namespace godwit::core {

std::vector<int> allowed_cpus() {
  constexpr std::size_t bits = 8 * sizeof(unsigned long);
  // As long as the kernel wants it.
  for (std::vector<unsigned long> mask(sizeof(cpu_set_t) / sizeof(unsigned long));; mask.resize(2 * mask.size())) {
    if (sched_getaffinity(0, mask.size() * sizeof mask[0], reinterpret_cast<cpu_set_t*>(mask.data())) == 0) {
      std::vector<int> cpus;
      for (std::size_t cpu = 0; cpu < mask.size() * bits; ++cpu)
        if ((mask[cpu / bits] >> (cpu % bits) & 1) != 0) cpus.push_back(static_cast<int>(cpu));
      return cpus;
    }
    if (errno != EINVAL || mask.size() > 128 * 1024) return {};
  }
}

std::vector<int> parse_cpu_list(std::string_view text) {
  constexpr int most = 1 << 20;
  std::vector<int> cpus;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&](int& value) {
    const auto [next, error] = std::from_chars(at, end, value);
    at = next;
    return error == std::errc{} && value >= 0 && value < most;
  };
  while (at != end) {
    int first = 0;
    if (!number(first)) return {};
    int last = first;
    if (at != end && *at == '-' && (++at, !number(last) || last < first)) return {};
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (at != end && (*at++ != ',' || at == end)) return {};
  }
  return cpus;
}

std::optional<int> core_of(const std::vector<int>& cpus) {
  constexpr std::size_t most_threads_of_a_core = 8;
  if (cpus.empty() || cpus.size() > most_threads_of_a_core) return {};
  std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpus[0]));
  std::string text;
  std::vector<int> siblings = file >> text ? parse_cpu_list(text) : std::vector<int>{};
  if (siblings.empty()) siblings = {cpus[0]};  // no /sys: one CPU is a core at least
  if (!std::ranges::includes(siblings, cpus)) return {};
  return siblings[0];
}

}  // namespace godwit::core
