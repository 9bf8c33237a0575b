// Ranks with verbs transports on a fabric that the test plays with: one process of it each, on a host of its own.
// At the end nobody may have broken a rule of verbs or have left an object.
// Threads: the test's.
#pragma once

#include "conformance/node.hpp"
#include "fake_verbs/fabric.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace godwit::verbs {

using conformance::connect;
using conformance::execute;
using conformance::Kind;
using conformance::Node;
using conformance::pattern;
using conformance::post_all;
using conformance::Received;
using conformance::send_request;
using conformance::until;
using core::Op;
using core::WorkRequest;
using fake_verbs::Call;
using fake_verbs::Fabric;
using fake_verbs::Hold;
using fake_verbs::Process;

using Options = core::OptionSet::Variables;
/// The device of a host, by rank.
using DeviceOf = fake_verbs::DeviceSetup (*)(Rank rank);
/// Its devices.
using Devices = std::vector<fake_verbs::DeviceSetup>;
using DevicesOf = Devices (*)(Rank rank);

fake_verbs::DeviceSetup infiniband(Rank rank);
fake_verbs::DeviceSetup roce(Rank rank);
/// Two of a host: mlx5_0 and mlx5_1, rxe0 and rxe1; of RoCE each in a network of its own.
Devices two_infiniband(Rank rank);
Devices two_roce(Rank rank);

class Stage {
 public:
  explicit Stage(Options options = {}, DeviceOf device = infiniband);
  Stage(Options options, DevicesOf devices);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  /// The process of a rank, before or after its node is made.
  Process& process(Rank rank);
  /// Makes it when it is used first. Throws what its transport throws.
  Node& node(Rank rank) { return node(rank, options_); }
  /// With other options than the rest.
  Node& node(Rank rank, const Options& options);
  /// Polls all.
  void poll();
  /// Polls all until `done()`.
  template <class Done>
  bool poll_until(Done&& done) {
    return until([this] { poll(); }, done);
  }
  void destroy(Rank rank) { nodes_.erase(rank); }
  /// A node of process(rank) that the test has made.
  Node& adopt(std::unique_ptr<Node> node) { return *(nodes_[node->rank] = std::move(node)); }
  /// The process is gone without a word, as by SIGKILL: its sockets are closed by the kernel.
  void kill(Rank rank);
  fake_verbs::PortName port(Rank rank, std::size_t device = 0) const;
  ibv_cq* completion_queue(Rank rank);
  /// Of the device that has the queue pair.
  ibv_cq* completion_queue_of(Rank rank, std::uint32_t pair);
  std::uint64_t not_ready() const;

  Fabric fabric;

 private:
  void make_host(Rank rank);

  Devices devices_of(Rank rank) const { return device_ != nullptr ? Devices{device_(rank)} : several_(rank); }

  const Options options_;
  const DeviceOf device_ = nullptr;
  const DevicesOf several_ = nullptr;
  std::map<Rank, Process*> processes_;
  std::map<Rank, std::unique_ptr<Node>> nodes_;
};

/// The number of the queue pair with `peer`.
std::uint32_t pair_of(Node& node, Rank peer);
/// Its device.
std::string device_of(Node& node, Rank peer);

/// Memory of `owner` that `user` may use.
class Window {
 public:
  Window(Node& user, Node& owner, std::size_t bytes);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  WorkRequest request(Op op, std::span<std::byte> local, std::size_t offset = 0) const;

  std::vector<std::byte> memory;

 private:
  Node& owner_;
  core::Registration registration_;
  std::uint64_t handle_;
};

/// Sends messages number `from` to `to` - 1, and expects that they are accepted.
void send_numbered(Stage& stage, Node& sender, Rank to, std::int64_t first, std::int64_t end);
/// All of a node's received messages of `peer` are number 0 to `count` - 1, and come before its loss.
void expect_numbered(const Node& node, Rank peer, std::int64_t count);
/// Waits until the node has lost the peer; then some time more: exactly once. Returns the loss.
Received expect_one_loss(Stage& stage, Node& node, Rank peer);
/// A message each way between two nodes.
void expect_they_talk(Stage& stage, Node& one, Node& other);

}  // namespace godwit::verbs
