// perftest's flags of the adapter, as options of the context.
#include "tool/perf/options.hpp"

#include "common/usage.hpp"

#include <fmt/format.h>

namespace godwit::apps {

namespace {

/// "mlx5_0,mlx5_1" with port 2: "mlx5_0:2,mlx5_1:2".
std::string with_ports(const std::string& devices, int port) {
  if (devices.find(':') != std::string::npos)
    throw UsageError(fmt::format("-d {} -i {}: the device names its port already; leave -i out", devices, port));
  std::string all;
  for (const char c : devices + ",") all += c == ',' ? fmt::format(":{},", port) : std::string(1, c);
  all.pop_back();
  return all;
}

}  // namespace

std::map<std::string, std::string> adapter_options(const AdapterWords& words) {
  std::map<std::string, std::string> set;
  if (words.port && words.device.empty())
    throw UsageError(
        fmt::format("-i {}: the port of a device; name the device with -d (the distance between sizes is --stepbytes)",
                    *words.port));
  if (!words.device.empty()) set["IB_HCA"] = words.port ? with_ports(words.device, *words.port) : words.device;
  const auto number = [&set](const char* option, const std::optional<int>& value) {
    if (value) set[option] = std::to_string(*value);
  };
  number("IB_GID_INDEX", words.gid_index);
  number("IB_MTU", words.mtu);
  number("IB_QPS_PER_PEER", words.queue_pairs);
  number("IB_INLINE", words.inline_bytes);
  if (words.rdma_cm) set["IB_CONNECT"] = "rdmacm";
  // Who names an adapter wants to measure it, also between two processes of one host.
  if (!set.empty()) set["TRANSPORTS"] = "verbs";
  return set;
}

}  // namespace godwit::apps
