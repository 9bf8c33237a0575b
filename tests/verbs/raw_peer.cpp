#include "raw_peer.hpp"

#include "core/text.hpp"
#include "verbs/address.hpp"

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace godwit::verbs {
namespace {

core::UniqueFd make_socket() {
  core::UniqueFd made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!made) throw std::runtime_error("socket failed");
  return made;
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void be_patient(int fd) {
  const timeval long_time{30, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &long_time, sizeof long_time);
}

}  // namespace

RawPeer::RawPeer(const Node& node) : socket_(make_socket()) {
  const sockaddr_in address = loopback(decode_address(node.transport->address()).value().port);
  if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("the node does not listen");
  be_patient(socket_.get());
}

// The other side may have closed the connection.
void RawPeer::send(std::span<const std::byte> bytes) {
  [[maybe_unused]] const auto sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

void RawPeer::send(SideMessage kind, std::span<const std::byte> bytes) {
  const SideHeader header{.bytes = static_cast<std::uint32_t>(bytes.size()), .kind = kind};
  send(std::as_bytes(std::span(&header, 1)));
  if (!bytes.empty()) send(bytes);
}

void RawPeer::send(const Hello& hello) { send(SideMessage::hello, std::as_bytes(std::span(&hello, 1))); }

bool RawPeer::read(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

bool RawPeer::receive(SideMessage& kind, std::vector<std::byte>& bytes) {
  SideHeader header;
  if (!read(std::as_writable_bytes(std::span(&header, 1)))) return false;
  kind = header.kind;
  bytes.resize(header.bytes);
  return read(bytes);
}

void RawPeer::expect(SideMessage kind) {
  SideMessage found{};
  std::vector<std::byte> bytes;
  ASSERT_TRUE(receive(found, bytes)) << "nothing came";
  EXPECT_EQ(found, kind);
}

void RawPeer::expect_end() {
  std::byte byte{};
  ssize_t n = 1;
  while (n > 0 || (n < 0 && errno == EINTR)) n = ::recv(socket_.get(), &byte, 1, 0);
  EXPECT_TRUE(n == 0 || errno == ECONNRESET) << "it is still open";
}

RawListener::RawListener() : socket_(make_socket()) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(socket_.get(), 8) != 0 ||
      ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("cannot listen");
  port_ = ntohs(address.sin_port);
  be_patient(socket_.get());
}

RawPeer RawListener::accept() {
  core::UniqueFd accepted(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!accepted) throw std::runtime_error("nobody connects");
  be_patient(accepted.get());
  return RawPeer(std::move(accepted));
}

core::Card RawListener::card(const Node& like) const {
  core::Card card = like.card();
  TransportAddress address = decode_address(like.transport->address()).value();
  address.port = port_;
  address.hosts = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}};
  card.addresses.front().second = encode(address);
  return card;
}

Hello hello_of(Rank from, Rank to) {
  Hello hello;
  hello.job = core::hash64("conformance");
  hello.from = from;
  hello.to = to;
  RailEnd end;
  end.gids = {{0, fake_verbs::link_local_gid(77), GidType::infiniband, {}, 0}};
  hello.rails = to_wire(std::span(&end, 1));
  hello.pairs[0] = {.number = 0x7777, .mtu = 1024, .lid = 77, .max_reads = 4};
  hello.buffer_bytes = 8192;
  hello.credits = 8;
  hello.pid = 4711;
  std::memcpy(hello.host, "elsewhere", 9);
  std::memcpy(hello.ports[0], "mlx5_9:1", 8);
  return hello;
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace godwit::verbs
