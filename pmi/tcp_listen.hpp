// Where the TCP store listens. Includes Boost.Asio: only for .cpp files of the store.
#pragma once

#include <utility>  // for Boost 1.74: see tcp_channel.hpp

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace godwit::pmi {

/// Addresses to listen on when the ranks write `host` for rank 0's: those of the allowed interfaces, or all. A store
/// that only this host can be meant to reach is not shown to others.
std::vector<std::string> listen_addresses(const std::string& host, const std::vector<std::string>& interfaces);

/// The port on all addresses, or nothing and why: another program on one of them would catch some of the ranks. IPv6
/// is left out where the host has none.
std::vector<boost::asio::ip::tcp::acceptor> listen_on(boost::asio::io_context& io,
                                                      const std::vector<std::string>& addresses, std::uint16_t port,
                                                      boost::system::error_code& error);

}  // namespace godwit::pmi
