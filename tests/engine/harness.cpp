#include "harness.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "core/self_transport.hpp"

namespace godwit::engine_test {

Bytes pattern(std::size_t size, std::uint64_t seed) {
  Bytes bytes(size);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15ULL + 1;
  for (std::byte& byte : bytes) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    byte = static_cast<std::byte>(state >> 56);
  }
  return bytes;
}

TemporaryFile::TemporaryFile() : path_(::testing::TempDir() + "godwit-engine-XXXXXX") {
  const int fd = ::mkstemp(path_.data());
  if (fd < 0) throw std::runtime_error("mkstemp failed");
  ::close(fd);
}

TemporaryFile::~TemporaryFile() { ::unlink(path_.c_str()); }

std::string TemporaryFile::text() const {
  std::ostringstream text;
  text << std::ifstream(path_).rdbuf();
  return text.str();
}

Pending& Pending::operator=(Pending&& other) noexcept {
  std::swap(worker_, other.worker_);
  std::swap(operation_, other.operation_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

Pending::~Pending() {
  if (operation_ == nullptr) return;
  const auto lock = worker_->lock();
  worker_->cancel(*operation_);
  worker_->abandon(*operation_);
}

// --- cluster ---------------------------------------------------------------------------------------------------

namespace {

core::OptionSet::Variables variables_of(const std::map<std::string, std::string>& options) {
  core::OptionSet::Variables variables;
  for (const auto& [name, value] : options) variables["GODWIT_" + name] = value;
  return variables;
}

}  // namespace

Cluster::Cluster(ClusterSettings settings)
    : settings_(std::move(settings)),
      log_(core::LogLevel::info, log_file_.path()),
      services_{options_, log_, clock_, service_},
      fabric_(fake::Fabric::make(settings_.fabric)) {
  options_.add<core::CoreOptions>();
  options_.load(variables_of(settings_.options), {});
  std::vector<Rank> all;
  std::vector<std::unique_ptr<core::Transport>> transports;
  for (Rank rank = 0; rank < settings_.ranks; ++rank) {
    all.push_back(rank);
    transports.push_back(fabric_->make_transport(rank));
    core::Card card;
    card.host_name = fmt::format("node{}", rank);
    if (!settings_.node_of.empty())
      card.host.boot = static_cast<std::uint64_t>(settings_.node_of[static_cast<std::size_t>(rank)]);
    card.pid = 1000 + static_cast<std::uint32_t>(rank);
    const auto address = transports.back()->address();
    card.addresses.emplace_back("fake", std::vector(address.begin(), address.end()));
    directory_.cards.push_back(std::move(card));
  }
  for (Rank rank = 0; rank < settings_.ranks; ++rank) {
    auto node = std::make_unique<Node>();
    auto& fake = transports[static_cast<std::size_t>(rank)];
    if (std::ranges::find(settings_.without_worker, rank) != settings_.without_worker.end()) {
      bare[rank] = std::move(fake);
      node->stopped = true;
    } else {
      std::vector<std::unique_ptr<core::Transport>> mine;
      if (settings_.self)
        mine.push_back(core::make_self_transport(rank, options_.get<core::CoreOptions>().eager_limit->value));
      mine.push_back(std::move(fake));
      core::JobInfo job;
      job.rank = rank;
      job.size = settings_.ranks;
      node->worker = std::make_unique<core::Worker>(services_, directory_, job, settings_.mode, std::move(mine), true);
      node->world = &node->worker->add_group(core::make_group(0, rank, all));
    }
    nodes_.push_back(std::move(node));
  }
}

Cluster::~Cluster() {
  for (const std::string& violation : fabric_->violations()) ADD_FAILURE() << violation;
  if (::testing::Test::HasFailure()) std::fputs(log().c_str(), stderr);
}

void Cluster::kill(Rank rank) {
  stop(rank);
  fabric_->kill(rank);
}

Pending Cluster::send(Rank from, Rank to, Bytes data, Tag tag, bool synchronous, core::Group* group) {
  auto buffer = std::make_unique<Bytes>(std::move(data));
  core::SendArguments arguments;
  arguments.group = group != nullptr ? group : &world(from);
  arguments.data = *buffer;
  arguments.to = to;
  arguments.tag = tag;
  arguments.synchronous = synchronous;
  const auto lock = worker(from).lock();
  Pending pending(worker(from), worker(from).post_send(arguments));
  pending.owning(std::move(buffer));
  return pending;
}

Pending Cluster::recv(Rank at, Rank from, std::size_t capacity, Tag tag, core::Group* group) {
  auto buffer = std::make_unique<Bytes>(capacity);
  core::RecvArguments arguments;
  arguments.group = group != nullptr ? group : &world(at);
  arguments.data = *buffer;
  arguments.from = from;
  arguments.tag = tag;
  const auto lock = worker(at).lock();
  Pending pending(worker(at), worker(at).post_recv(arguments));
  pending.owning(std::move(buffer));
  return pending;
}

Pending Cluster::message(Rank from, Rank to, Bytes data, std::uint16_t handler) {
  auto buffer = std::make_unique<Bytes>(std::move(data));
  const auto lock = worker(from).lock();
  Pending pending(worker(from), worker(from).post_active(world(from), *buffer, to, handler));
  pending.owning(std::move(buffer));
  return pending;
}

std::size_t Cluster::pass() {
  std::size_t events = 0;
  for (const auto& node : nodes_) {
    if (node->stopped) continue;
    const auto lock = node->worker->lock();
    events += node->worker->progress();
  }
  return events;
}

void Cluster::settle() {
  // A pass without events may still have posted something: queued requests, pieces of streams, deferred failures.
  // Injected refusals of a post take a pass each; a failed fetch waits 100 for a better explanation.
  for (int idle = 0; idle < 110; ++idle)
    if (fabric_->deliver_all() + pass() > 0) idle = -1;
}

void Cluster::settle(std::mt19937_64& random) {
  for (int idle = 0; idle < 50; ++idle) {
    std::size_t moved = 0;
    for (auto i = random() % 4; i > 0; --i) moved += fabric_->step(random) ? 1 : 0;
    Node& node = *nodes_[random() % nodes_.size()];
    if (!node.stopped) moved += node.worker->progress();
    if (moved > 0) idle = -1;
  }
  settle();
}

void Cluster::connect_all() {
  constexpr Tag tag = max_tag;
  for (Rank from = 0; from < size(); ++from)
    for (Rank to = 0; to < size(); ++to) {
      if (nodes_[static_cast<std::size_t>(from)]->stopped || nodes_[static_cast<std::size_t>(to)]->stopped) continue;
      if (from == to && !settings_.self) continue;
      const Pending in = recv(to, from, 0, tag);
      const Pending out = send(from, to, {}, tag);
      settle();
      ASSERT_TRUE(in.done() && out.done());
    }
  fabric_->forget_records();
}

void Cluster::expect_clean() {
  settle();
  for (Rank rank = 0; rank < size(); ++rank) {
    const auto& node = nodes_[static_cast<std::size_t>(rank)];
    if (node->stopped) continue;
    EXPECT_TRUE(node->worker->describe_all().starts_with("0 pending operations, 0 unexpected messages"))
        << "rank " << rank << ": " << node->worker->describe_all();
  }
  EXPECT_EQ(fabric_->registrations(), 0U);
}

// --- rogue -------------------------------------------------------------------------------------------------------

Rogue::Rogue(Cluster& cluster, Rank itself, Rank victim)
    : cluster_(cluster), victim_(victim), transport_(*cluster.bare.at(itself)) {
  const core::Card& card = cluster.card(victim);
  endpoint_ = transport_.open_endpoint({victim, &card, card.address_of("fake")});
  poll();
}

void Rogue::send(core::WireHeader header, std::span<const std::byte> payload) {
  core::WorkRequest request;
  request.signalled = false;
  header.sequence = next_sequence++;
  request.header = header;
  request.local = {const_cast<std::byte*>(payload.data()), payload.size()};
  if (endpoint_->post({&request, 1}) != 1) throw std::runtime_error("the rogue's message was not accepted");
  cluster_.settle();
  poll();
}

void Rogue::poll() {
  std::array<core::Completion, 16> completions;
  while (const std::size_t count = transport_.poll(completions)) {
    for (const core::Completion& completion : std::span(completions).first(count)) {
      if (completion.kind != core::Completion::Kind::message) continue;
      std::span<const std::byte> bytes = completion.payload;
      const auto header = core::read_wire<core::WireHeader>(bytes);
      received_.push_back({header.value(), {bytes.begin(), bytes.end()}});
    }
  }
}

std::optional<Rogue::Received> Rogue::receive() {
  cluster_.settle();
  poll();
  if (received_.empty()) return std::nullopt;
  Received first = std::move(received_.front());
  received_.pop_front();
  return first;
}

}  // namespace godwit::engine_test
