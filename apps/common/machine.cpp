#include "common/machine.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <vector>

namespace godwit::apps {

namespace {

std::string first_line(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

/// The value of "name : value" in a file of such lines; of the first CPU in /proc/cpuinfo.
std::string value_in(const std::string& path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const auto colon = line.find(':');
    const auto begin = line.find_first_not_of(" \t", colon + 1);
    if (colon != std::string::npos && begin != std::string::npos) return line.substr(begin);
  }
  return {};
}

std::string caches_of_first_cpu() {
  std::string text;
  for (int index = 0;; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    const std::string level = first_line(folder + "level"), type = first_line(folder + "type");
    if (level.empty()) return text;
    const std::string kind = type == "Data" ? "d" : type == "Instruction" ? "i" : "";
    text += fmt::format("{}L{}{} {}", text.empty() ? "" : ", ", level, kind, first_line(folder + "size"));
  }
}

std::string memory_size() {
  const std::string kilobytes = value_in("/proc/meminfo", "MemTotal");
  if (kilobytes.empty()) return {};
  return fmt::format("{:.1f} GiB", std::stod(kilobytes) / (1024 * 1024));
}

std::string virtual_machine() {
  const std::string flags = " " + value_in("/proc/cpuinfo", "flags") + " ";
  if (flags.find(" hypervisor ") == std::string::npos) return "no";
  const std::string vendor = first_line("/sys/class/dmi/id/sys_vendor"),
                    product = first_line("/sys/class/dmi/id/product_name");
  return vendor.empty() && product.empty() ? "yes" : fmt::format("yes ({} {})", vendor, product);
}

}  // namespace

Machine this_machine() {
  utsname system{};
  ::uname(&system);  // cannot fail with a valid pointer
  std::string cpu = value_in("/proc/cpuinfo", "model name");
  return {.cpu = cpu.empty() ? system.machine : std::move(cpu),
          .cpus = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)),
          .caches = caches_of_first_cpu(),
          .memory = memory_size(),
          .kernel = fmt::format("{} {} {}", system.sysname, system.release, system.machine),
          .virtual_machine = virtual_machine(),
          .pinning = {}};
}

}  // namespace godwit::apps
