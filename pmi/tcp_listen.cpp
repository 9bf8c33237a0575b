#include "pmi/tcp_listen.hpp"

#include "core/interfaces.hpp"

#include <boost/asio/ip/v6_only.hpp>

#include <fcntl.h>

namespace godwit::pmi {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

bool is_loopback(const std::string& host) {
  if (host == "localhost") return true;
  error_code error;
  const auto address = asio::ip::make_address(host, error);
  return !error && address.is_loopback();
}

error_code open_at(tcp::acceptor& acceptor, const tcp::endpoint& where) {
  error_code error;
  acceptor.open(where.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error && where.address().is_v6()) acceptor.set_option(asio::ip::v6_only(true), error);
  if (!error) acceptor.bind(where, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (!error) fcntl(acceptor.native_handle(), F_SETFD, FD_CLOEXEC);
  return error;
}

}  // namespace

std::vector<std::string> listen_addresses(const std::string& host, const std::vector<std::string>& interfaces) {
  if (is_loopback(host)) return {"127.0.0.1", "::1"};
  if (!interfaces.empty()) {
    std::vector<std::string> addresses;
    for (const core::InterfaceAddress& entry : core::interface_addresses(interfaces))
      addresses.push_back(entry.address);
    return addresses;
  }
  return {"0.0.0.0", "::"};
}

std::vector<tcp::acceptor> listen_on(asio::io_context& io, const std::vector<std::string>& addresses,
                                     std::uint16_t port, error_code& error) {
  std::vector<tcp::acceptor> acceptors;
  for (const std::string& address : addresses) {
    const tcp::endpoint where(asio::ip::make_address(address), port);
    tcp::acceptor acceptor(io);
    error = open_at(acceptor, where);
    if (!error) {
      acceptors.push_back(std::move(acceptor));
    } else if (!where.address().is_v6() || error == asio::error::address_in_use) {
      return {};
    }
  }
  return acceptors;
}

}  // namespace godwit::pmi
