#include "core/self_transport.hpp"

#include <cstring>
#include <deque>
#include <vector>

#include "core/atomic_word.hpp"
#include "core/messages.hpp"

namespace godwit::core {

namespace {

constexpr std::size_t queue_limit = 64;

class SelfTransport;

class SelfEndpoint final : public Endpoint {
 public:
  explicit SelfEndpoint(SelfTransport& transport) : transport_(transport) {}
  std::size_t post(std::span<const WorkRequest> requests) noexcept override;
  const Capabilities& capabilities() const noexcept override;
  std::optional<std::uint64_t> import_key(const PackedKey&) noexcept override { return 1; }
  Mapping map(RemoteAddress remote, std::size_t) noexcept override {
    return {Mapping::State::mapped, {std::shared_ptr<void>(), reinterpret_cast<std::byte*>(remote.address)}};
  }
  std::string describe() const override { return "self: copies within the process"; }

 private:
  SelfTransport& transport_;
};

class SelfTransport final : public Transport {
 public:
  SelfTransport(Rank rank, std::size_t max_payload) : rank_(rank) {
    capabilities_.max_message = max_payload + sizeof(WireHeader);
    capabilities_.max_inline = max_payload;
    capabilities_.max_rdma = std::size_t{64} << 20;
    capabilities_.rma = capabilities_.private_rma = capabilities_.put_notify = true;
    capabilities_.put_done = PutDone::remote;
    capabilities_.atomics = AtomicsDomain::cpu;
    capabilities_.latency_s = 50e-9;
    capabilities_.bandwidth_Bps = 10e9;
    capabilities_.rma_overhead_s = 50e-9;
  }

  std::string_view name() const noexcept override { return "self"; }
  std::span<const std::byte> address() const noexcept override { return {}; }
  Reach reaches(const PeerInfo& peer) const override {
    if (peer.rank == rank_) return {true, "the rank itself"};
    return {false, "another process"};
  }
  std::unique_ptr<Endpoint> open_endpoint(const PeerInfo&) override {
    Completion completion;
    completion.kind = Completion::Kind::connected;
    events_.push_back({completion, {}});
    return std::make_unique<SelfEndpoint>(*this);
  }
  Registration register_memory(std::span<std::byte>, MemoryKind) override { return {}; }
  void deregister_memory(const Registration&) noexcept override {}

  std::size_t poll(std::span<Completion> completions) noexcept override {
    for (Event& given : given_)
      if (given.message.capacity() != 0) spare_.push_back(std::move(given.message));
    given_.clear();
    std::size_t count = 0;
    while (count < completions.size() && !events_.empty()) {
      Event& event = given_.emplace_back(std::move(events_.front()));
      events_.pop_front();
      event.completion.peer = rank_;
      if (event.completion.kind == Completion::Kind::message) event.completion.payload = event.message;
      completions[count++] = event.completion;
    }
    return count;
  }

  bool arm() noexcept override { return events_.empty(); }
  void disarm() noexcept override {}
  int event_fd() const noexcept override { return -1; }
  bool silent_until_opened() const noexcept override { return true; }
  void shutdown() noexcept override {}

  const Capabilities& capabilities() const noexcept { return capabilities_; }

  bool post(const WorkRequest& request) {
    if (events_.size() >= queue_limit) return false;
    auto* remote = reinterpret_cast<std::byte*>(request.remote.address);
    switch (request.op) {
      case Op::send: {
        Event event;
        event.completion.kind = Completion::Kind::message;
        if (!spare_.empty()) {
          event.message = std::move(spare_.back());
          spare_.pop_back();
        }
        event.message.resize(sizeof(WireHeader) + request.local.size());
        std::memcpy(event.message.data(), &request.header, sizeof(WireHeader));
        copy_bytes(event.message.data() + sizeof(WireHeader), request.local);
        events_.push_back(std::move(event));
        break;
      }
      case Op::put:
        if (!request.local.empty()) std::memmove(remote, request.local.data(), request.local.size());
        if (request.imm) {
          Event event;
          event.completion.kind = Completion::Kind::notify;
          event.completion.imm = *request.imm;
          events_.push_back(std::move(event));
        }
        break;
      case Op::get:
        if (!request.local.empty()) std::memmove(request.local.data(), remote, request.local.size());
        break;
      case Op::fetch_add:
      case Op::compare_swap: {
        const std::uint64_t before = execute_atomic(request.op, remote, request.operand, request.compare);
        std::memcpy(request.local.data(), &before, sizeof before);
        break;
      }
      case Op::flush: break;
    }
    if (request.signalled) {
      Event event;
      event.completion.cookie = request.cookie;
      events_.push_back(std::move(event));
    }
    return true;
  }

 private:
  struct Event {
    Completion completion;
    std::vector<std::byte> message;
  };

  const Rank rank_;
  Capabilities capabilities_;
  std::deque<Event> events_;
  std::vector<Event> given_;                   // their payloads are valid until the next poll
  std::vector<std::vector<std::byte>> spare_;  // buffers to use again
};

std::size_t SelfEndpoint::post(std::span<const WorkRequest> requests) noexcept {
  std::size_t accepted = 0;
  while (accepted < requests.size() && transport_.post(requests[accepted])) ++accepted;
  return accepted;
}

const Capabilities& SelfEndpoint::capabilities() const noexcept { return transport_.capabilities(); }

}  // namespace

std::unique_ptr<Transport> make_self_transport(Rank rank, std::size_t max_payload) {
  return std::make_unique<SelfTransport>(rank, max_payload);
}

}  // namespace godwit::core
