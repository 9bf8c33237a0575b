#include "stage.hpp"

#include "fake_verbs/world.hpp"
#include "verbs/options.hpp"
#include "verbs/transport.hpp"

#include <fmt/format.h>

#include <cstdlib>

namespace godwit::verbs {

fake_verbs::DeviceSetup infiniband(Rank rank) {
  return fake_verbs::infiniband_device("mlx5_0", static_cast<std::uint16_t>(rank + 1));
}

fake_verbs::DeviceSetup roce(Rank rank) {
  return fake_verbs::roce_device("rxe0", "10.77.0." + std::to_string(rank + 1));
}

Devices two_infiniband(Rank rank) {
  return {fake_verbs::infiniband_device("mlx5_0", static_cast<std::uint16_t>(rank + 1)),
          fake_verbs::infiniband_device("mlx5_1", static_cast<std::uint16_t>(rank + 101))};
}

Devices two_roce(Rank rank) {
  Devices devices;
  for (int rail = 0; rail < 2; ++rail)
    devices.push_back(fake_verbs::roce_device(fmt::format("rxe{}", rail), fmt::format("10.77.{}.{}", rail, rank + 1)));
  return devices;
}

Stage::Stage(Options options, DeviceOf device) : options_(std::move(options)), device_(device) {}
Stage::Stage(Options options, DevicesOf devices) : options_(std::move(options)), several_(devices) {}

Stage::~Stage() {
  nodes_.clear();
  for (const std::string& defect : fabric.defects()) ADD_FAILURE() << "against the rules of verbs: " << defect;
  for (const std::string& leak : fabric.leaks()) ADD_FAILURE() << "left: " << leak;
}

Process& Stage::process(Rank rank) {
  Process*& process = processes_[rank];
  if (process != nullptr) return *process;
  const std::string host = "node" + std::to_string(rank);
  fabric.add_host(host, devices_of(rank));
  process = &fabric.add_process(host);
  return *process;
}

Node& Stage::node(Rank rank, const Options& options) {
  std::unique_ptr<Node>& node = nodes_[rank];
  if (!node) {
    Process& api = process(rank);
    const conformance::TransportCase over_fake{"over_fake",
                                               [&api](core::Services& services, Rank its_rank, std::string_view job) {
                                                 return std::make_unique<VerbsTransport>(services, its_rank, job, api);
                                               },
                                               [](core::OptionSet& set) { set.add<VerbsOptions>(); }, options};
    node = std::make_unique<Node>(over_fake, rank);
  }
  return *node;
}

void Stage::poll() {
  for (const auto& [rank, node] : nodes_)
    if (node) node->poll();
}

void Stage::kill(Rank rank) {
  fabric.kill(process(rank));
  destroy(rank);
}

fake_verbs::PortName Stage::port(Rank rank, std::size_t device) const {
  return {"node" + std::to_string(rank), devices_of(rank).at(device).facts.name, 1};
}

ibv_cq* Stage::completion_queue(Rank rank) {
  const auto& queues = process(rank).state().completion_queues;
  if (queues.size() != 1) throw std::runtime_error("not one completion queue");
  return (*queues.begin()).second.get();
}

ibv_cq* Stage::completion_queue_of(Rank rank, std::uint32_t pair) {
  for (const auto& [key, queue_pair] : process(rank).state().queue_pairs)
    if (queue_pair->qp_num == pair) return queue_pair->send_cq;
  throw std::runtime_error("no such queue pair");
}

std::uint64_t Stage::not_ready() const {
  std::uint64_t sum = 0;
  for (const auto& [rank, process] : processes_) sum += process->counters().not_ready;
  return sum;
}

std::uint32_t pair_of(Node& node, Rank peer) {
  const std::string words = node.endpoint(peer).describe();
  const std::string before = "(QP ";
  const auto at = words.find(before);
  if (at == std::string::npos) throw std::runtime_error("no queue pair in: " + words);
  return static_cast<std::uint32_t>(std::stoul(words.substr(at + before.size())));
}

std::string device_of(Node& node, Rank peer) {
  const std::string words = node.endpoint(peer).describe();
  const std::string before = "verbs: ";
  return words.substr(before.size(), words.find(':', before.size()) - before.size());
}

Window::Window(Node& user, Node& owner, std::size_t bytes)
    : memory(bytes),
      owner_(owner),
      registration_(owner.transport->register_memory(memory, MemoryKind::host)),
      handle_(user.endpoint(owner.rank).import_key(registration_.key).value()) {}

Window::~Window() { owner_.transport->deregister_memory(registration_); }

WorkRequest Window::request(Op op, std::span<std::byte> local, std::size_t offset) const {
  WorkRequest request;
  request.op = op;
  request.local = local;
  request.remote = {reinterpret_cast<std::uint64_t>(memory.data()) + offset, handle_};
  return request;
}

void send_numbered(Stage& stage, Node& sender, Rank to, std::int64_t first, std::int64_t end) {
  for (std::int64_t i = first; i < end; ++i) {
    const WorkRequest request = send_request({}, i);
    ASSERT_TRUE(stage.poll_until([&] { return sender.endpoint(to).post(std::span(&request, 1)) == 1; })) << i;
  }
}

void expect_numbered(const Node& node, Rank peer, std::int64_t count) {
  std::int64_t next = 0;
  bool lost = false;
  for (const Received& received : node.received) {
    if (received.peer != peer) continue;
    if (received.kind == Kind::peer_lost) lost = true;
    if (received.kind != Kind::message) continue;
    EXPECT_FALSE(lost) << "a message after the loss";
    EXPECT_EQ(received.header.tag, next++);
  }
  EXPECT_EQ(next, count) << "messages that arrived";
}

Received expect_one_loss(Stage& stage, Node& node, Rank peer) {
  EXPECT_TRUE(stage.poll_until([&] { return node.count(Kind::peer_lost, peer) > 0; }));
  for (int i = 0; i < 200; ++i) stage.poll();
  EXPECT_EQ(node.count(Kind::peer_lost, peer), 1U);
  for (const Received& received : node.received)
    if (received.kind == Kind::peer_lost && received.peer == peer) return received;
  return {};
}

void expect_they_talk(Stage& stage, Node& one, Node& other) {
  for (const auto& [from, to] : {std::pair(&one, &other), std::pair(&other, &one)}) {
    const std::size_t before = to->count(Kind::message, from->rank);
    const WorkRequest request = send_request({}, 99);
    ASSERT_TRUE(stage.poll_until([&] { return from->endpoint(to->rank).post(std::span(&request, 1)) == 1; }));
    EXPECT_TRUE(stage.poll_until([&] { return to->count(Kind::message, from->rank) == before + 1; }));
  }
}

}  // namespace godwit::verbs
