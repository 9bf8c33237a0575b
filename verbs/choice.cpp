#include "verbs/choice.hpp"

#include <godwit/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "verbs/gid_choice.hpp"
#include "verbs/hca_filter.hpp"

namespace godwit::verbs {
namespace {

struct Candidate {
  std::size_t position = 0;
  const DeviceFacts* device = nullptr;
  const PortFacts* port = nullptr;
  unsigned rail = 0;
  unsigned distance = 0;

  std::string name() const { return port_name(*device, port->number); }
};

// Empty: usable.
std::string unusable_words(const DeviceFacts& device, const PortFacts& port) {
  if (!port.active) return fmt::format("{}, physically {}", port.state, port.physical_state);
  if (device.protocol == Protocol::infiniband && port.link == LinkLayer::ethernet && port.gids.empty())
    return "its GID table is empty: has its network interface an address, and is it in this container?";
  if (device.protocol == Protocol::infiniband && port.link == LinkLayer::infiniband && port.lid == 0 &&
      port.gids.empty())
    return "neither LID nor GID: is a subnet manager running?";
  return {};
}

PortLeftOut left_out_port(std::size_t position, const DeviceFacts& device, unsigned port, std::string reason) {
  std::string line = fmt::format("{}: {}", port_name(device, port), reason);
  return {position, port, std::move(reason), std::move(line)};
}

std::vector<Candidate> usable_ports(std::span<const DeviceFacts> devices, const HcaFilter& filter,
                                    const VerbsOptions& options, const Placement& here,
                                    std::vector<PortLeftOut>& left_out) {
  std::vector<Candidate> ports;
  for (std::size_t position = 0; position < devices.size(); ++position)
    for (const PortFacts& port : devices[position].ports) {
      const DeviceFacts& device = devices[position];
      std::string reason = !filter.allows(device.name, port.number)
                               ? fmt::format("not allowed by {}", options.hca.origin())
                               : unusable_words(device, port);
      if (reason.empty())
        ports.push_back({position, &device, &port, static_cast<unsigned>(ports.size()), here.to(device.numa_node)});
      else
        left_out.push_back(left_out_port(position, device, port.number, std::move(reason)));
    }
  return ports;
}

void leave_out(std::vector<Candidate>& ports, std::vector<PortLeftOut>& left_out, auto&& condition, auto&& reason) {
  std::erase_if(ports, [&](const Candidate& candidate) {
    const bool out = condition(candidate);
    if (out)
      left_out.push_back(
          left_out_port(candidate.position, *candidate.device, candidate.port->number, reason(candidate)));
    return out;
  });
}

void keep_the_best(std::vector<Candidate>& ports, std::vector<PortLeftOut>& left_out) {
  if (ports.empty()) return;
  const auto rate = [](const Candidate& candidate) { return candidate.port->rate_Gbps; };
  const double fastest = rate(*std::ranges::max_element(ports, {}, rate));
  leave_out(
      ports, left_out, [&](const Candidate& candidate) { return rate(candidate) < fastest / 2; },
      [&](const Candidate& candidate) {
        return fmt::format("{:.4g} Gb/s, another port has {:.4g} Gb/s", rate(candidate), fastest);
      });
  std::ranges::stable_sort(ports, {}, [&](const Candidate& candidate) {
    return std::tuple(candidate.device->protocol, candidate.distance, -rate(candidate), candidate.rail);
  });
  const Candidate best = ports.front();
  leave_out(
      ports, left_out,
      [&](const Candidate& candidate) { return std::abs(rate(candidate) - rate(best)) > rate(best) / 10; },
      [&](const Candidate& candidate) {
        return fmt::format("{:.4g} Gb/s, unlike {} with {:.4g} Gb/s", rate(candidate), best.name(), rate(best));
      });
  std::size_t count = 0;
  leave_out(
      ports, left_out, [&](const Candidate&) { return ++count > most_rails; },
      [](const Candidate&) { return fmt::format("{} ports are in use already", most_rails); });
}

std::string place_words(const Candidate& candidate, const Candidate& best, std::size_t ports) {
  if (ports == 1) return "the only usable port";
  const int node = candidate.device->numa_node;
  const std::string where = node < 0 ? "" : fmt::format(" (NUMA node {}, distance {})", node, candidate.distance);
  const std::string rate = fmt::format("{:.4g} Gb/s", candidate.port->rate_Gbps);
  if (candidate.rail == best.rail)
    return fmt::format("first of {} ports by distance{} and rate, {}", ports, where, rate);
  return fmt::format("one more rail{}, {}", where, rate);
}

void check_pkey(const Candidate& candidate, const VerbsOptions& options) {
  const auto index = static_cast<std::size_t>(*options.pkey);
  const auto& keys = candidate.port->pkeys;
  if (!options.pkey.is_set() || candidate.device->protocol == Protocol::iwarp) return;
  if (index < keys.size() && keys[index] != 0) return;
  std::vector<std::string> there;
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (keys[i] != 0) there.push_back(fmt::format("{} ({:#06x})", i, keys[i]));
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}={}: {} has no partition key at this index, only at: {}", options.pkey.origin(), index,
                          candidate.name(), fmt::join(there, ", ")));
}

PortChoice choose(const Candidate& candidate, const Candidate& best, std::size_t ports, const VerbsOptions& options,
                  std::vector<std::string>& warnings) {
  check_pkey(candidate, options);
  PortChoice choice;
  choice.device = candidate.position;
  choice.port = candidate.port->number;
  choice.rail = candidate.rail;
  choice.distance = candidate.distance;
  GidChoice gid = choose_gid(*candidate.port, candidate.device->protocol, static_cast<int>(*options.gid_index),
                             candidate.name(), options.gid_index.origin());
  choice.reason = place_words(candidate, best, ports);
  if (!gid.gids.empty()) choice.gid = gid.gids.front();
  if (choice.gid && candidate.device->protocol != Protocol::iwarp)
    choice.reason += fmt::format("; GID {}", gid_text(*choice.gid));
  choice.reason += fmt::format("; {}", gid.reason);
  choice.gids = std::move(gid.gids);
  if (!gid.warning.empty()) warnings.push_back(std::move(gid.warning));
  const auto wish = static_cast<unsigned>(*options.mtu);
  choice.mtu = wish == 0 ? candidate.port->mtu : std::min(wish, candidate.port->mtu);
  if (wish > candidate.port->mtu)
    warnings.push_back(fmt::format("{}={}: {} has an active MTU of {}, which is used", options.mtu.origin(), wish,
                                   candidate.name(), candidate.port->mtu));
  return choice;
}

}  // namespace

PortChoices choose_ports(std::span<const DeviceFacts> devices, const VerbsOptions& options, const Placement& here) {
  const HcaFilter filter(*options.hca, options.hca.origin());
  PortChoices result;
  if (*options.disable) {
    for (std::size_t position = 0; position < devices.size(); ++position)
      for (const PortFacts& port : devices[position].ports)
        result.left_out.push_back(left_out_port(position, devices[position], port.number,
                                                fmt::format("switched off by {}", options.disable.origin())));
    return result;
  }
  result.warnings = filter.check(devices);
  std::vector<Candidate> ports = usable_ports(devices, filter, options, here, result.left_out);
  const std::size_t usable = ports.size();
  keep_the_best(ports, result.left_out);
  for (const Candidate& candidate : ports)
    result.ports.push_back(choose(candidate, ports.front(), usable, options, result.warnings));
  return result;
}

std::size_t rails_in_use(std::span<const DeviceFacts> devices, std::span<const PortChoice> ports,
                         const VerbsOptions& options) {
  if (ports.empty()) return 0;
  const auto protocol = [&](const PortChoice& port) { return devices[port.device].protocol; };
  const auto link = [&](const PortChoice& port) {
    return std::ranges::find(devices[port.device].ports, port.port, &PortFacts::number)->link;
  };
  if (connects_by_rdma_cm(options, protocol(ports.front()))) return 1;
  const auto most = std::min(ports.size(), static_cast<std::size_t>(*options.rails));
  std::size_t count = 1;
  while (count < most && protocol(ports[count]) == protocol(ports.front()) && link(ports[count]) == link(ports.front()))
    ++count;
  return count;
}

bool connects_by_rdma_cm(const VerbsOptions& options, Protocol protocol) {
  const std::string& way = options.connect->value;
  if (protocol == Protocol::iwarp && way == "exchange")
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}=exchange: iWARP adapters connect by rdma_cm only; GODWIT_IB_HCA chooses other adapters",
                            options.connect.origin()));
  return way == "rdmacm" || protocol == Protocol::iwarp;
}

std::string port_name(const DeviceFacts& device, unsigned port) { return fmt::format("{} port {}", device.name, port); }

std::string left_out_text(std::span<const PortLeftOut> ports) {
  std::string text;
  for (const PortLeftOut& one : ports) text += fmt::format("{}{}", text.empty() ? "" : "; ", one.line);
  return text;
}

MtuChoice agree_mtu(unsigned local, unsigned remote, std::string_view local_name, std::string_view remote_name) {
  MtuChoice choice{std::min(local, remote), {}};
  if (local != remote)
    choice.warning = fmt::format(
        "the ends' MTU differ: {} has {}, {} has {}; {} is used (set both network interfaces and switches alike)",
        local_name, local, remote_name, remote, choice.mtu);
  return choice;
}

}  // namespace godwit::verbs
