#include "pmi/pair.hpp"

#include "core/core_options.hpp"
#include "core/text.hpp"
#include "pmi/environment.hpp"
#include "pmi/select.hpp"
#include "pmi/tcp_store.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <utility>  // for Boost 1.74: see tcp_channel.hpp

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace godwit::pmi {

namespace {

constexpr double without_end_s = 1e9;  // what clocks can still add to

/// A name that does not exist will not come into being while its user waits.
void check_name(const std::string& server) {
  boost::asio::io_context io;
  boost::system::error_code error;
  const auto found = boost::asio::ip::tcp::resolver(io).resolve(server, "", error);
  if (error == boost::asio::error::host_not_found)
    throw Error(ErrorCode::bootstrap,
                fmt::format("the client cannot find the server: no host has the name or address {}", server));
}

}  // namespace

bool started_by_launcher() { return choose_method(environment_variables()) != Method::single; }

StoreConfig pair_config(const PairEnd& end) {
  StoreConfig config;
  config.rank = end.is_server() ? 0 : 1;
  config.size = 2;
  config.host = end.server;
  config.job = core::hash64(fmt::format("pair/{}", end.port));
  config.ports = {end.port};
  config.words = {
      .via = "TCP (server and client, no launcher)",
      .host = "server " + end.server,
      .join_failed = "the client could not join its peer",
      .join_advice = "Is the server running, at this port, and does a firewall let it through?",
      .listen_failed = "the server cannot listen",
      .listen_advice = "Name another port, at both sides",
      .twice_advice = "a server takes one client",
  };
  return config;
}

std::unique_ptr<core::Bootstrap> join_pair(const PairEnd& end, const core::OptionSet& options, core::Log& log) {
  BootstrapSettings settings = settings_of(options);
  const bool is_limited = options.get<core::CoreOptions>().startup_timeout.is_set();
  if (end.is_server() && !is_limited) settings.deadline_s = without_end_s;
  if (!end.is_server()) check_name(end.server);
  return std::make_unique<TcpStoreBootstrap>(pair_config(end), settings, log);
}

}  // namespace godwit::pmi
