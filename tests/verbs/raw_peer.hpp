// A rank that the test plays itself on the side channel, by a blocking socket. Threads: one at a time.
#pragma once

#include "core/card.hpp"
#include "core/unique_fd.hpp"
#include "stage.hpp"
#include "verbs/wire.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace godwit::verbs {

class RawPeer {
 public:
  /// Connects to a node.
  explicit RawPeer(const Node& node);
  /// An accepted socket.
  explicit RawPeer(core::UniqueFd socket) : socket_(std::move(socket)) {}

  void send(std::span<const std::byte> bytes);
  void send(SideMessage kind, std::span<const std::byte> bytes = {});
  void send(const Hello& hello);
  /// The next message; false: the other side has closed the connection, or nothing came in a long time.
  bool receive(SideMessage& kind, std::vector<std::byte>& bytes);
  /// Expects a message of this kind.
  void expect(SideMessage kind);
  /// Expects that the connection ends, whatever comes before.
  void expect_end();
  void close() { socket_.reset(); }

 private:
  bool read(std::span<std::byte> bytes);
  core::UniqueFd socket_;
};

/// Waits for a connection of a node that believes to connect to a rank.
class RawListener {
 public:
  RawListener();
  RawPeer accept();
  /// The card of that rank: like `like`, but with this listener's port.
  core::Card card(const Node& like) const;
  std::uint16_t port() const noexcept { return port_; }
  void close() { socket_.reset(); }

 private:
  core::UniqueFd socket_;
  std::uint16_t port_ = 0;
};

/// An introduction from `from` to `to`, of the job that nodes are of, with a queue pair that does not exist.
Hello hello_of(Rank from, Rank to);
std::span<const std::byte> bytes_of(std::string_view text);

}  // namespace godwit::verbs
