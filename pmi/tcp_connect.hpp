// How a rank finds and joins the TCP store. Includes Boost.Asio: only for .cpp files of the store.
#pragma once

#include "pmi/settings.hpp"
#include "pmi/tcp_channel.hpp"
#include "pmi/tcp_config.hpp"

#include <boost/asio/io_context.hpp>

#include <optional>

namespace godwit::pmi {

struct JoinedStore {
  std::shared_ptr<Channel> channel;
  std::uint64_t job_nonce = 0;
};

/// Tries every port of the job at every address of the host, again and again until the deadline; joins only a
/// store that says it is this job's. `where` set: tries only that. Throws Error(bootstrap) with the last obstacle.
boost::asio::awaitable<JoinedStore> join_store(boost::asio::io_context& io, StoreConfig config,
                                               BootstrapSettings settings,
                                               std::optional<boost::asio::ip::tcp::endpoint> where);

}  // namespace godwit::pmi
