#include "runtime/inspect.hpp"

#include <fmt/format.h>

#include <boost/version.hpp>

#include <algorithm>

#include "core/options_text.hpp"
#include "runtime/communicator_state.hpp"
#include "runtime/context_state.hpp"
#include "runtime/transports.hpp"

namespace godwit::runtime {

namespace {

// The peer's state once it is connected (or known to be out of reach).
core::Peer& connected_peer(const Communicator& communicator, Rank rank) {
  detail::CommunicatorState& state = *communicator.state();
  check_rank(state.group, rank, "peer");
  core::Worker& worker = state.worker;
  core::Peer* peer = nullptr;
  worker.wait_until(
      [&] {
        peer = &worker.peer(state.group.to_world(rank));
        return peer->state != core::Peer::State::connecting;
      },
      [&] { return "connection to " + worker.name_of(state.group.to_world(rank)); });
  if (peer->state == core::Peer::State::lost) {
    const ErrorCode code = peer->lost_status == ErrorCode::ok ? ErrorCode::peer_failed : peer->lost_status;
    throw Error(code, worker.lost_words(*peer));
  }
  return *peer;
}

}  // namespace

std::string compiled_in() {
  std::string names;
  for (const TransportEntry& entry : transport_list())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.name);
  return fmt::format(
      "transports  {}\nbootstraps  PMIx {}, torchrun's environment (TCP store), single process\n"
      "compiler    GCC {}, C++20{}\nlibraries   Boost {}.{}, fmt {}.{}\n",
      names, GODWIT_PMIX_VERSION, __VERSION__,
#ifdef NDEBUG
      "",
#else
      ", assertions on",
#endif
      BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, FMT_VERSION / 10000, FMT_VERSION / 100 % 100);
}

std::vector<TransportReport> transports(const Context& context) {
  std::vector<TransportReport> reports;
  const auto used = context.state()->worker->transports();
  for (const TransportEntry& entry : transport_list()) {
    const bool opened =
        std::any_of(used.begin(), used.end(), [&](const auto& transport) { return transport->name() == entry.name; });
    std::string reason(entry.about);
    if (!opened) {
      reason = entry.unavailable_reason();
      if (reason.empty()) reason = "left out by GODWIT_TRANSPORTS";
    }
    reports.push_back({std::string(entry.name), opened, std::move(reason)});
  }
  return reports;
}

std::string transport_name_to(const Communicator& communicator, Rank peer) {
  return std::string(connected_peer(communicator, peer).transport->name());
}

std::string protocol_table(const Communicator& communicator, Rank peer) {
  const core::Peer& known = connected_peer(communicator, peer);
  const core::Route route{known.capabilities, communicator.state()->worker.options().eager_limit->value};
  return fmt::format("{}\n{}", known.endpoint->describe(), core::protocol_table_text(known.protocols, route));
}

std::vector<ProtocolRange> protocol_ranges(const Communicator& communicator, Rank peer) {
  std::vector<ProtocolRange> rows;
  for (const core::ProtocolTable::Range& range : connected_peer(communicator, peer).protocols.ranges())
    if (range.protocol != nullptr)
      rows.push_back(
          {std::string(core::to_string(range.kind)), range.handle, range.upto, std::string(range.protocol->name)});
  return rows;
}

std::string collective_table(const Communicator& communicator) {
  return communicator.state()->collectives->selection_table();
}

std::vector<std::string> algorithms_for(const Communicator& communicator, const CollectiveCall& call) {
  const auto held = communicator.state()->worker.lock();
  const auto names = communicator.state()->collectives->algorithms_for(call);
  return {names.begin(), names.end()};
}

void allow_algorithms(const Communicator& communicator, std::string_view rules) {
  const auto held = communicator.state()->worker.lock();
  communicator.state()->collectives->allow(rules);
}

Spread spread(const Communicator& communicator) {
  const auto held = communicator.state()->worker.lock();
  const collectives::NodeShape shape = communicator.state()->collectives->shape();
  return {communicator.size(), shape.nodes, shape.ranks_per_node};
}

std::string option_table() { return core::options_text(*make_options()); }
std::string options_markdown() { return core::options_markdown(*make_options()); }

}  // namespace godwit::runtime
