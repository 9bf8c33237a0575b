// The faces of a fabric: Transport and Endpoint.
#include "fake/fake_transport.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstring>

namespace godwit::fake {

using core::Completion;
using core::Op;
using core::WorkRequest;

class FakeEndpoint final : public core::Endpoint {
 public:
  FakeEndpoint(std::shared_ptr<Fabric> fabric, Rank from, Rank to) : fabric_(std::move(fabric)), from_(from), to_(to) {}
  ~FakeEndpoint() override {
    const Fabric::Guard guard(fabric_->mutex_);
    Fabric::Link& link = fabric_->link(from_, to_);
    link.opened = link.ready = false;
  }
  std::size_t post(std::span<const WorkRequest> requests) noexcept override {
    const Fabric::Guard guard(fabric_->mutex_);
    std::size_t accepted = 0;
    while (accepted < requests.size() && fabric_->post(fabric_->link(from_, to_), requests[accepted])) ++accepted;
    return accepted;
  }
  bool put(std::span<const std::byte> data, core::RemoteAddress remote,
           const std::optional<std::uint32_t>& imm) noexcept override {
    WorkRequest request;
    request.op = Op::put;
    request.local = {const_cast<std::byte*>(data.data()), data.size()};
    request.remote = remote;
    request.imm = imm;
    return execute(request);
  }
  bool get(std::span<std::byte> data, core::RemoteAddress remote) noexcept override {
    WorkRequest request;
    request.op = Op::get;
    request.local = data;
    request.remote = remote;
    return execute(request);
  }
  bool atomic(Op op, core::RemoteAddress remote, std::uint64_t operand, std::uint64_t compare,
              std::uint64_t& before) noexcept override {
    WorkRequest request;
    request.op = op;
    request.local = std::as_writable_bytes(std::span(&before, 1));
    request.remote = remote;
    request.operand = operand;
    request.compare = compare;
    return execute(request);
  }
  const core::Capabilities& capabilities() const noexcept override { return fabric_->settings_.capabilities; }
  std::optional<std::uint64_t> import_key(const core::PackedKey& key) noexcept override {
    return fabric_->import_key(to_, key);
  }
  core::Mapping map(core::RemoteAddress remote, std::size_t bytes) noexcept override {
    return fabric_->map(remote, bytes);
  }
  std::string describe() const override {
    return fmt::format("fake: queues in memory from rank {} to rank {}", from_, to_);
  }
  std::string trouble() const override { return fabric_->settings_.manual ? "the wire waits for the test" : ""; }

 private:
  bool execute(const WorkRequest& request) noexcept {
    const Fabric::Guard guard(fabric_->mutex_);
    return fabric_->execute(fabric_->link(from_, to_), request);
  }

  const std::shared_ptr<Fabric> fabric_;
  const Rank from_;
  const Rank to_;
};

class FakeTransport final : public core::Transport {
 public:
  FakeTransport(std::shared_ptr<Fabric> fabric, Rank rank)
      : fabric_(std::move(fabric)), rank_(rank), port_(fabric_->ports_[rank]) {
    const auto id = reinterpret_cast<std::uint64_t>(fabric_.get());
    address_.resize(sizeof id + sizeof rank);
    std::memcpy(address_.data(), &id, sizeof id);
    std::memcpy(address_.data() + sizeof id, &rank, sizeof rank);
    port_.rank = rank;
    port_.alive = true;
    port_.event_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  }
  ~FakeTransport() override {
    const Fabric::Guard guard(fabric_->mutex_);
    fabric_->vanish(port_);
    ::close(port_.event_fd);
    port_.armed = false;
  }

  std::string_view name() const noexcept override { return "fake"; }
  std::span<const std::byte> address() const noexcept override { return address_; }
  core::Reach reaches(const core::PeerInfo& peer) const override {
    if (peer.rank == rank_) return {false, "that is this rank itself"};
    if (peer.address.size() != address_.size() ||
        std::memcmp(peer.address.data(), address_.data(), sizeof(std::uint64_t)) != 0)
      return {false, "not on this fake fabric"};
    return {true, "same fake fabric"};
  }
  std::unique_ptr<core::Endpoint> open_endpoint(const core::PeerInfo& peer) override {
    const Fabric::Guard guard(fabric_->mutex_);
    fabric_->open(rank_, peer.rank);
    return std::make_unique<FakeEndpoint>(fabric_, rank_, peer.rank);
  }
  core::Registration register_memory(std::span<std::byte> memory, MemoryKind kind) override {
    return fabric_->register_memory(rank_, memory, kind);
  }
  void deregister_memory(const core::Registration& registration) noexcept override {
    fabric_->deregister(registration);
  }
  std::size_t poll(std::span<Completion> completions) noexcept override {
    const Fabric::Guard guard(fabric_->mutex_);
    return fabric_->poll(port_, completions);
  }
  bool arm() noexcept override {
    const Fabric::Guard guard(fabric_->mutex_);
    port_.armed = port_.inbox.empty();
    return port_.armed;
  }
  void disarm() noexcept override {
    const Fabric::Guard guard(fabric_->mutex_);
    port_.armed = false;
    std::uint64_t count = 0;
    [[maybe_unused]] const auto drained = ::read(port_.event_fd, &count, sizeof count);
  }
  int event_fd() const noexcept override { return port_.event_fd; }
  void shutdown() noexcept override {
    const Fabric::Guard guard(fabric_->mutex_);
    fabric_->leave(port_);
  }

 private:
  const std::shared_ptr<Fabric> fabric_;
  const Rank rank_;
  Fabric::Port& port_;
  std::vector<std::byte> address_;
};

std::unique_ptr<core::Transport> Fabric::make_transport(Rank rank) {
  const Guard guard(mutex_);
  return std::make_unique<FakeTransport>(shared_from_this(), rank);
}

// --- what they ask the fabric for ----------------------------------------------------------------------------------

void Fabric::open(Rank from, Rank to) {
  Link& out = link(from, to);
  out.opened = true;
  if (out.lost || (ports_.contains(to) && !exists(ports_[to]))) {
    out.lost = true;
    push(from, {.kind = Completion::Kind::peer_lost, .status = ErrorCode::peer_failed, .peer = to}, nullptr,
         fmt::format("rank {} is not there (fake)", to));
  } else if (out.connected) {
    push(from, {.kind = Completion::Kind::connected, .peer = to}, nullptr);
  } else if (!settings_.manual_connect) {
    connect(from, to);
  }
}

bool Fabric::post(Link& on, const WorkRequest& request) {
  const std::uint64_t nth = posts_++;
  if (nth >= refuse_from_ && nth < refuse_until_) return false;
  if (on.lost) {
    push(on.from, {.status = ErrorCode::peer_failed, .peer = on.to, .cookie = request.cookie}, nullptr,
         fmt::format("rank {} is gone (fake)", on.to));
    return true;
  }
  if (!on.ready || on.unpolled >= settings_.queue_depth) return false;
  check(on, request);
  Item item;
  item.request = request;
  item.order = accepted_;
  const bool put_done_local = request.op == Op::put && settings_.capabilities.put_done == core::PutDone::local;
  item.copied = put_done_local || (request.op == Op::send && request.local.size() <= settings_.capabilities.max_inline);
  if (item.copied) item.copy.assign(request.local.begin(), request.local.end());
  record(on, request, false);
  if (const auto failure = failures_.find(accepted_); failure != failures_.end()) item.failure = failure->second;
  ++accepted_;
  ++on.unpolled;
  if (put_done_local && request.signalled && item.failure == ErrorCode::ok) done(on, item, false);
  on.wire.push_back(std::move(item));
  if (!settings_.manual) deliver_from(on);
  return true;
}

void Fabric::record(const Link& on, const WorkRequest& request, bool at_once) {
  if (!settings_.record) return;
  records_.push_back({.from = on.from, .to = on.to, .request = request, .payload = {}, .at_once = at_once});
  if (request.op == Op::send || request.op == Op::put)
    records_.back().payload.assign(request.local.begin(), request.local.end());
}

bool Fabric::execute(Link& on, const WorkRequest& request) {
  if (!settings_.at_once || on.lost || !on.ready || !on.wire.empty()) return false;
  if (request.local.size() > settings_.capabilities.max_rdma) return false;
  if (request.imm && on.unpolled >= settings_.queue_depth) return false;
  if (failures_.contains(accepted_)) return false;  // it will fail when it is posted
  check(on, request);
  if (!move_memory(request, request.local).empty()) return false;
  record(on, request, true);
  ++accepted_;
  if (!request.imm) return true;
  ++on.unpolled;
  push(on.to, {.kind = Completion::Kind::notify, .peer = on.from, .imm = *request.imm}, &on);
  return true;
}

void Fabric::check(const Link& on, const WorkRequest& request) {
  const core::Capabilities& can = settings_.capabilities;
  const std::size_t size = request.local.size();
  std::string words;
  switch (request.op) {
    case Op::send:
      if (size + sizeof(core::WireHeader) > can.max_message)
        words = fmt::format("a message of {} bytes, {} are possible", size + sizeof(core::WireHeader), can.max_message);
      if (!request.signalled && size > can.max_inline)
        words = fmt::format("an unsignalled send of {} bytes, {} are inline", size, can.max_inline);
      break;
    case Op::put:
      if (request.imm && !can.put_notify) words = "a put with imm";
      [[fallthrough]];
    case Op::get:
      if (!can.rma) words = "RMA";
      if (size > can.max_rdma) words = fmt::format("RMA of {} bytes, {} are possible", size, can.max_rdma);
      break;
    case Op::fetch_add:
    case Op::compare_swap:
      if (can.atomics == core::AtomicsDomain::none) words = "an atomic";
      if (size != 8 || request.remote.address % 8 != 0) words = "a misaligned atomic";
      break;
    case Op::flush: break;
  }
  if (!words.empty()) violations_.push_back(fmt::format("rank {} posted {} to rank {}", on.from, words, on.to));
}

std::size_t Fabric::poll(Port& port, std::span<Completion> completions) {
  port.given.clear();
  std::size_t count = 0;
  while (exists(port) && count < completions.size() && !port.inbox.empty()) {
    Entry& entry = port.given.emplace_back(std::move(port.inbox.front()));
    port.inbox.pop_front();
    if (entry.counted != nullptr) --entry.counted->unpolled;
    if (entry.completion.kind == Completion::Kind::connected) link(port.rank, entry.completion.peer).ready = true;
    entry.completion.payload = entry.message;
    entry.completion.detail = entry.words;
    completions[count++] = entry.completion;
  }
  return count;
}

// The good-bye follows what was posted before it.
void Fabric::leave(Port& port) {
  if (!exists(port)) return;
  for (auto& [ends, one] : links_) {
    if (one.from != port.rank || one.lost) continue;
    Item item;
    item.good_bye = true;
    item.order = accepted_++;
    ++one.unpolled;
    one.wire.push_back(std::move(item));
    while (!settings_.manual && deliver_from(one)) {
    }
  }
  port.left = true;
}

void Fabric::vanish(Port& port) {
  if (exists(port)) kill(port.rank);
  port.alive = false;
  port.inbox.clear();
}

std::unique_ptr<core::Transport> make_fake_transport(core::Services&, Rank rank, std::string_view job) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<Fabric>, std::less<>> fabrics;
  const std::lock_guard guard(mutex);
  std::weak_ptr<Fabric>& known = fabrics[std::string(job)];
  std::shared_ptr<Fabric> fabric = known.lock();
  if (!fabric) known = fabric = Fabric::make({.record = false});
  return fabric->make_transport(rank);
}

}  // namespace godwit::fake
