// A job of two processes that a user starts by hand, without a launcher: a server, and a client that names it. It is
// the TCP store with other words and one port.
#pragma once

#include "core/bootstrap.hpp"
#include "core/log.hpp"
#include "core/options.hpp"
#include "pmi/tcp_config.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace godwit::pmi {

struct PairEnd {
  std::string server;  // name or address, as the client writes it; empty: this process is the server
  std::uint16_t port = 0;

  bool is_server() const noexcept { return server.empty(); }
};

/// Has a launcher started this process? Throws Error(bootstrap) as choose_method().
bool started_by_launcher();

/// Pure.
StoreConfig pair_config(const PairEnd& end);

/// The server is rank 0 and returns as soon as it listens; its exchange() then waits for the client without end, or for
/// GODWIT_STARTUP_TIMEOUT if that is set. The client is rank 1 and tries for GODWIT_STARTUP_TIMEOUT. Throws
/// Error(bootstrap).
std::unique_ptr<core::Bootstrap> join_pair(const PairEnd& end, const core::OptionSet& options, core::Log& log);

}  // namespace godwit::pmi
