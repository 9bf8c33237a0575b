// A protocol is data: one struct in one list. To add one: a file here, a line in list.cpp.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/operation.hpp"
#include "core/transport.hpp"

namespace godwit::core {

class Worker;
struct Peer;

/// What a protocol's choice may depend on.
struct Route {
  const Capabilities& capabilities;
  std::size_t eager_limit = 0;  // GODWIT_EAGER_LIMIT
};

/// Size limit that means "any".
inline constexpr std::size_t no_limit = static_cast<std::size_t>(-1);

struct Protocol {
  std::string_view name;
  Operation::Kind kind;
  /// True: only for targets whose key the endpoint has imported.
  bool needs_handle;
  /// True: spends the peer's eager window; without credit the protocol of the largest messages is used.
  bool windowed;
  std::string_view about;
  /// Largest size that it can carry on this route; nothing if the route lacks what it needs.
  std::optional<std::size_t> (*limit)(const Route& route);
  /// Expected seconds for `size` bytes.
  double (*cost)(const Route& route, std::size_t size);
  /// Posts the first work requests.
  void (*start)(Worker& worker, Operation& operation);
  /// A work request of the operation is done: accepted (when it asked for no completion), completed, or failed.
  void (*on_done)(Worker& worker, Operation& operation, ErrorCode status, std::string_view detail);
  /// The operation is failing and its last work request is done: ends it. Null: nobody else needs to know.
  void (*on_failed)(Worker& worker, Operation& operation) = nullptr;
};

/// Handles messages of one MessageKind from a peer. `payload` comes after the header.
using MessageHandler = void (*)(Worker& worker, Peer& peer, const WireHeader& header,
                                std::span<const std::byte> payload);

std::span<const Protocol* const> all_protocols() noexcept;
/// nullptr for a kind that does not exist.
MessageHandler handler_of(MessageKind kind) noexcept;

/// Which protocol serves which sizes on one route: the cheapest that can.
class ProtocolTable {
 public:
  struct Range {
    Operation::Kind kind;
    bool handle;       // with an imported key
    std::size_t upto;  // inclusive
    const Protocol* protocol;
  };

  ProtocolTable() = default;
  explicit ProtocolTable(const Route& route);
  /// nullptr if no protocol can do it.
  const Protocol* choose(Operation::Kind kind, std::size_t size, bool handle) const noexcept;
  const std::vector<Range>& ranges() const noexcept { return ranges_; }

 private:
  std::vector<Range> ranges_;
};

/// Rows "send  0..8192  eager  0.3 us ..." for `godwit info --protocols`.
std::string protocol_table_text(const ProtocolTable& table, const Route& route);

}  // namespace godwit::core
