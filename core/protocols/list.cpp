// The one list of protocols, the one table of message handlers, and the choice between them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "core/protocols/handlers.hpp"
#include "core/protocols/protocol.hpp"
#include "core/text.hpp"

namespace godwit::core {

std::span<const Protocol* const> all_protocols() noexcept {
  static constexpr std::array<const Protocol*, 11> list = {
      &eager_protocol,
      &rendezvous_protocol,
      &active_eager_protocol,
      &active_rendezvous_protocol,
      &put_direct_protocol,
      &put_emulated_protocol,
      &get_direct_protocol,
      &get_emulated_protocol,
      &fetch_add_direct_protocol,
      &compare_swap_direct_protocol,
      &atomic_emulated_protocol,
  };
  return list;
}

MessageHandler handler_of(MessageKind kind) noexcept {
  static constexpr std::array<MessageHandler, message_kind_count> table = {
      on_eager,        on_ready_to_send, on_clear_to_send, on_data,    on_finished,    on_active,
      on_credit,       on_put_data,      on_put_end,       on_put_ack, on_get_request, on_atomic_request,
      on_atomic_reply, on_notify,        on_abort,         on_awaited,
  };
  const auto index = static_cast<std::size_t>(kind);
  return index < table.size() ? table[index] : nullptr;
}

namespace {

// fetch_add and compare_swap share the emulated protocol, which is listed once, under fetch_add.
bool serves(const Protocol& protocol, Operation::Kind kind) noexcept {
  return protocol.kind == kind || (&protocol == &atomic_emulated_protocol && kind == Operation::Kind::compare_swap);
}

const Protocol* cheapest(const Route& route, Operation::Kind kind, std::size_t size, bool handle) {
  const Protocol* best = nullptr;
  double best_cost = 0;
  for (const Protocol* protocol : all_protocols()) {
    if (!serves(*protocol, kind) || (protocol->needs_handle && !handle)) continue;
    const auto limit = protocol->limit(route);
    if (!limit || size > *limit) continue;
    const double cost = protocol->cost(route, size);
    // Whatever it costs: what needs no help from the target's CPU.
    const bool better =
        best != nullptr && protocol->needs_handle != best->needs_handle ? protocol->needs_handle : cost < best_cost;
    if (best == nullptr || better) {
      best = protocol;
      best_cost = cost;
    }
  }
  return best;
}

// Sizes where the choice may change: powers of two and every protocol's own limit, with its successor.
std::vector<std::size_t> probe_sizes(const Route& route) {
  std::vector<std::size_t> sizes{0};
  for (int bit = 0; bit < 41; ++bit) sizes.push_back(std::size_t{1} << bit);
  for (const Protocol* protocol : all_protocols()) {
    const auto limit = protocol->limit(route);
    if (limit && *limit != no_limit) {
      sizes.push_back(*limit);
      sizes.push_back(*limit + 1);
    }
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

}  // namespace

ProtocolTable::ProtocolTable(const Route& route) {
  using Kind = Operation::Kind;
  const std::vector<std::size_t> sizes = probe_sizes(route);
  for (const Kind kind : {Kind::send, Kind::active, Kind::put, Kind::get, Kind::fetch_add, Kind::compare_swap}) {
    for (const bool handle : {true, false}) {
      const std::size_t first = ranges_.size();
      for (const std::size_t size : sizes) {
        const Protocol* protocol = cheapest(route, kind, size, handle);
        if (ranges_.size() > first && ranges_.back().protocol == protocol)
          ranges_.back().upto = size;
        else
          ranges_.push_back({kind, handle, size, protocol});
      }
      ranges_.back().upto = no_limit;
    }
  }
}

const Protocol* ProtocolTable::choose(Operation::Kind kind, std::size_t size, bool handle) const noexcept {
  for (const Range& range : ranges_)
    if (range.kind == kind && range.handle == handle && size <= range.upto) return range.protocol;
  return nullptr;
}

std::string protocol_table_text(const ProtocolTable& table, const Route& route) {
  std::string text = fmt::format("{:<15} {:<10} {:>22}  {:<18} {:>12}  {}\n", "operation", "memory", "size", "protocol",
                                 "expected", "how");
  const ProtocolTable::Range* previous = nullptr;
  for (const ProtocolTable::Range& range : table.ranges()) {
    const bool goes_on = previous != nullptr && previous->kind == range.kind && previous->handle == range.handle;
    const std::size_t from = goes_on ? previous->upto + 1 : 0;
    previous = &range;
    if (range.protocol == nullptr) continue;
    const bool rma = range.kind != Operation::Kind::send && range.kind != Operation::Kind::active;
    // Without a key the row of two-sided operations would only repeat itself.
    if (!rma && !range.handle) continue;
    text += fmt::format("{:<15} {:<10} {:>22}  {:<18} {:>9.2f} us  {}\n", to_string(range.kind),
                        !rma           ? "any"
                        : range.handle ? "reachable"
                                       : "other",
                        fmt::format("{}..{}", format_size(from), range.upto == no_limit ? "" : format_size(range.upto)),
                        range.protocol->name, 1e6 * range.protocol->cost(route, from), range.protocol->about);
  }
  return text;
}

}  // namespace godwit::core
