#include "runtime/transports.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/core_options.hpp"
#include "core/self_transport.hpp"
#include "core/text.hpp"
#include "shm/factory.hpp"
#include "verbs/factory.hpp"

namespace godwit::runtime {

namespace {

std::unique_ptr<core::Transport> make_self(core::Services& services, Rank rank, std::string_view) {
  return core::make_self_transport(rank, services.options.get<core::CoreOptions>().eager_limit->value);
}

constexpr TransportEntry entries[] = {
    {"self", "a rank to itself: copies within the process", [] { return std::string(); }, make_self},
    {"shm", "shared memory and cross-memory attach, within a host", shm::shm_unavailable_reason,
     shm::make_shm_transport},
    {"verbs", "RDMA over InfiniBand, RoCE and iWARP, between hosts", [] { return std::string(); },
     verbs::make_verbs_transport},
};

}  // namespace

std::span<const TransportEntry> transport_list() noexcept { return entries; }

OpenedTransports open_transports(core::Services& services, Rank rank, std::string_view job_id) {
  const auto& wish = services.options.get<core::CoreOptions>().transports;
  std::vector<std::string> known;
  for (const TransportEntry& entry : entries) known.emplace_back(entry.name);
  for (const std::string& name : *wish) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const auto near = core::nearest(name, known);
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: there is no transport `{}` in this build, only {}{}", wish.origin(), name,
                            fmt::join(known, ", "), near ? fmt::format(" (did you mean {}?)", *near) : ""));
  }
  OpenedTransports opened;
  const auto miss = [&](const TransportEntry& entry, core::LogLevel level, const std::string& reason) {
    services.log.write(level, fmt::format("transport {}: not used: {}", entry.name, reason));
    opened.missing += fmt::format("{}{}: {}", opened.missing.empty() ? "" : "; ", entry.name, reason);
  };
  for (const TransportEntry& entry : entries) {
    const bool named = std::find(wish->begin(), wish->end(), entry.name) != wish->end();
    // Every rank can talk to itself, whatever else is switched off.
    if (!wish->empty() && !named && entry.name != "self") {
      miss(entry, core::LogLevel::info, wish.origin() + " leaves it out");
      continue;
    }
    const std::string reason = entry.unavailable_reason();
    if (!reason.empty()) {
      if (named)
        throw Error(ErrorCode::not_supported,
                    fmt::format("{} asks for {}, which cannot be used here: {}", wish.origin(), entry.name, reason));
      miss(entry, core::LogLevel::info, reason);
      continue;
    }
    try {
      opened.transports.push_back(entry.make(services, rank, job_id));
    } catch (const Error& error) {
      // What was asked for must work; what was not is missed only where no other transport reaches a peer.
      if (named || error.code() == ErrorCode::invalid_argument) throw;
      miss(entry, error.code() == ErrorCode::not_supported ? core::LogLevel::info : core::LogLevel::warn, error.what());
    }
  }
  return opened;
}

}  // namespace godwit::runtime
