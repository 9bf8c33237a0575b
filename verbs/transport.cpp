#include "verbs/transport.hpp"

#include "core/card.hpp"
#include "core/core_options.hpp"
#include "core/interfaces.hpp"
#include "verbs/discovery.hpp"
#include "verbs/endpoint.hpp"
#include "verbs/key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include <sys/epoll.h>

namespace godwit::verbs {
namespace {

constexpr std::size_t largest_piece = 1 << 20;
// For the choice of protocols: what adapters of the last ten years do, about.
constexpr double wire_latency_s = 1.5e-6;
constexpr double copy_Bps = 10e9;
constexpr double registration_s = 5e-6;

bool connects_by_rdma_cm(const VerbsOptions& options, Protocol protocol) {
  const std::string& way = options.connect->value;
  if (protocol == Protocol::iwarp && way == "exchange")
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}=exchange: iWARP adapters connect by rdma_cm only; GODWIT_IB_HCA chooses other adapters",
                            options.connect.origin()));
  return way == "rdmacm" || protocol == Protocol::iwarp;
}

PeerName name_of(const core::PeerInfo& peer) { return {peer.rank, peer.card->host_name, peer.card->pid}; }

}  // namespace

VerbsTransport::VerbsTransport(core::Services& services, Rank rank, std::string_view job_id, Api& api, CmApi& cm_api)
    : services_(services), rank_(rank) {
  const auto& options = services.options.get<VerbsOptions>();
  if (*options.disable) throw Error(ErrorCode::not_supported, options.disable.origin() + " switches it off");
  const std::vector<DeviceFacts> devices = discover(api, services.log);
  if (devices.empty()) throw Error(ErrorCode::not_supported, "this host has no RDMA adapter");
  const PortChoices choices = choose_ports(devices, options, placement_here());
  for (const std::string& warning : choices.warnings) services.log.warn("verbs: {}", warning);
  for (const PortLeftOut& port : choices.left_out) services.log.info("verbs: not used: {}", port.line);
  if (choices.ports.empty()) {
    // Not an error: the job may live within this host. Between hosts it explains what is slow or missing.
    const std::string why =
        choices.left_out.empty() ? "the adapters' ports cannot be read" : left_out_text(choices.left_out);
    services.log.warn("verbs: this host has RDMA adapters, but no port of theirs can be used: {}", why);
    throw Error(ErrorCode::not_supported, fmt::format("no port can be used: {}", why));
  }
  const PortChoice& port = choices.ports.front();
  const DeviceFacts& device = devices[port.device];
  adapter_ = std::make_unique<Adapter>(services, api, device, port, AdapterSettings::from(options));
  services.log.info("verbs: {}: {}", adapter_->about(), adapter_->reason());
  make_epoll();
  const std::string net_device = port.gid ? port.gid->net_device : std::string();
  self_.protocol = device.protocol;
  self_.link = adapter_->end().link;
  self_.gid = adapter_->end().gid;
  if (port.gid) self_.gid_type = port.gid->type;
  self_.hosts =
      reachable_hosts(core::interface_addresses(*services.options.get<core::CoreOptions>().socket_ifname), net_device);
  make_control(job_id, device.protocol, net_device, cm_api);
  self_.port = control_->listening_port();
  address_ = encode(self_);
}

VerbsTransport::~VerbsTransport() {
  on_service_thread([this] { control_.reset(); });
  control_.reset();  // the service thread has been stopped
  for (auto& [rank, link] : links_)
    if (link->connection) lose(link);
}

void VerbsTransport::make_control(std::string_view job_id, Protocol protocol, const std::string& net_device,
                                  CmApi& cm_api) {
  std::optional<CmSetup> cm;
  if (connects_by_rdma_cm(services_.options.get<VerbsOptions>(), protocol)) {
    cm.emplace(CmSetup{cm_api, reachable_hosts(core::interface_addresses({}), net_device)});
    // Its own address first, where RoCE has one.
    if (adapter_->global_route()) cm->addresses.insert(cm->addresses.begin(), adapter_->end().gid);
  }
  try {
    control_ = std::make_unique<Control>(services_, rank_, job_id, *adapter_, mailbox_, cm);
  } catch (const Error& error) {
    // Not an error, as above: between hosts it explains what is slow or missing.
    if (error.code() == ErrorCode::not_supported) services_.log.warn("verbs: not used: {}", error.what());
    throw;
  }
}

void VerbsTransport::make_epoll() {
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  for (const int fd : {adapter_->completion_channel()->fd, mailbox_.event_fd()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    if (!epoll_ || ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
      throw Error(ErrorCode::no_memory, fmt::format("verbs: epoll: {}; see `ulimit -n`", std::strerror(errno)));
  }
}

template <class F>
void VerbsTransport::on_service_thread(F&& work) noexcept {
  try {
    services_.service.call(work);
  } catch (const std::exception& error) {
    services_.log.debug("verbs: {}", error.what());
  }
}

core::Reach VerbsTransport::reaches(const core::PeerInfo& peer) const {
  if (peer.rank == rank_) {
    if (!adapter_->atomics()) return {false, "that is this rank itself"};
    return {true, fmt::format("{} executes atomics of its own rank, too", adapter_->about())};
  }
  if (peer.address.empty()) return {false, "the peer has no verbs transport"};
  const auto there = decode_address(peer.address);
  if (!there) return {false, "the peer's verbs transport is of another version of Godwit"};
  if (const std::string why = cannot_connect(self_, *there); !why.empty()) return {false, why};
  return {true, fmt::format("both have an active port: {} here", adapter_->about())};
}

std::unique_ptr<core::Endpoint> VerbsTransport::open_endpoint(const core::PeerInfo& peer) {
  if (const auto gone = departed_.find(peer.rank); gone != departed_.end()) {
    auto lost = std::make_shared<Link>(name_of(peer));
    lost->state = Link::State::lost;
    lost->lost_status = gone->second.code();
    lost->lost_detail = gone->second.message();
    posting_.completions.lost(peer.rank, gone->second);
    return std::make_unique<VerbsEndpoint>(lost, posting_);
  }
  if (peer.rank == rank_) return open_to_self(peer);
  auto& link = links_[peer.rank];
  if (!link) {
    link = std::make_shared<Link>(name_of(peer));
    if (shut_down_) link->state = Link::State::lost;
    services_.service.post([control = control_.get(), name = link->peer, address = *decode_address(peer.address)] {
      control->connect(name, address);
    });
  } else if (link->state == Link::State::open) {
    posting_.completions.connected(peer.rank);
  }
  return std::make_unique<VerbsEndpoint>(link, posting_);
}

// A queue pair that is connected to itself: nobody else need agree.
std::unique_ptr<core::Endpoint> VerbsTransport::open_to_self(const core::PeerInfo& self) {
  if (!links_.contains(rank_)) {
    LinkMade made{name_of(self), make_connection(*adapter_)};
    Connection& connection = *made.connection;
    connection.pair.connect(connection.pair.address());
    connection.credits = connection.granted;
    connection.peer_buffer = adapter_->frame_bytes();
    connection.peer_port = adapter_->about();
    on(made);
    on(LinkReady{rank_});
  }
  const LinkPointer& link = links_[rank_];
  auto endpoint = std::make_unique<VerbsEndpoint>(link, posting_);
  if (link->state == Link::State::open) posting_.completions.connected(rank_);
  return endpoint;
}

core::Capabilities VerbsTransport::capabilities_of(const Connection& connection) const noexcept {
  const std::size_t payload = connection.peer_buffer - message_overhead;
  core::Capabilities capabilities;
  capabilities.max_message = sizeof(core::WireHeader) + payload;
  capabilities.max_inline = payload;  // copied, all of it
  capabilities.max_rdma = std::min(largest_piece, adapter_->max_message());
  capabilities.rma = capabilities.private_rma = true;
  // iWARP: the notification is a message of its own, that must find room.
  capabilities.put_notify = !adapter_->iwarp() || connection.pair.inline_bytes() >= sizeof(Frame);
  capabilities.put_done = adapter_->iwarp() ? core::PutDone::local : core::PutDone::remote;
  capabilities.early_put = true;
  capabilities.atomics = adapter_->atomics() ? core::AtomicsDomain::adapter : core::AtomicsDomain::none;
  capabilities.latency_s = wire_latency_s;
  capabilities.bandwidth_Bps = adapter_->bandwidth_Bps();
  capabilities.message_Bps = 1 / (1 / adapter_->bandwidth_Bps() + 2 / copy_Bps);
  // A request and an answer, and the registration of private memory at both ends.
  capabilities.rma_overhead_s = 2 * wire_latency_s + (adapter_->registrar().caching() ? 0 : 2 * registration_s);
  return capabilities;
}

core::Registration VerbsTransport::register_memory(std::span<std::byte> memory, MemoryKind kind) {
  if (kind == MemoryKind::device)
    throw Error(ErrorCode::not_supported, "the verbs transport does not reach device memory yet");
  if (memory.empty()) return {{}, Key{}.pack()};
  // Constants cannot be written: that is enough for a message.
  const Registered* registered = hold(memory, adapter_->remote_access());
  const bool atomics = registered != nullptr && adapter_->atomics();
  if (registered == nullptr) registered = hold(memory, IBV_ACCESS_REMOTE_READ);
  if (registered == nullptr) throw Error(adapter_->registrar().failure());
  Key key;
  key.rkey = registered->rkey;
  return {{reinterpret_cast<std::uint64_t>(registered)}, key.pack(), atomics};
}

// Without a cache as a region, which puts and gets from this memory find; with one they find all that is registered.
const Registered* VerbsTransport::hold(std::span<std::byte> memory, int access) {
  Registrar& registrar = adapter_->registrar();
  return registrar.caching() ? registrar.acquire(memory, access) : registrar.try_register_region(memory, access);
}

void VerbsTransport::deregister_memory(const core::Registration& registration) noexcept {
  if (registration.lkey.value == 0) return;
  const auto* registered = reinterpret_cast<const Registered*>(registration.lkey.value);
  Registrar& registrar = adapter_->registrar();
  if (registrar.caching())
    registrar.release(registered);
  else
    registrar.deregister_region(*registered);
}

bool VerbsTransport::arm() noexcept {
  if (mailbox_.pending() || !posting_.completions.empty() || !consumed_.empty() || !posting_.failing.empty() ||
      !draining_.empty() || waiting_entries_ > 0 || !recoveries_sleep())
    return false;
  if (ibv_req_notify_cq(adapter_->completion_queue(), 0) != 0) return false;
  // What came before the request to be told is not told.
  const int found = ibv_poll_cq(adapter_->completion_queue(), 1, entries_.data());
  waiting_entries_ = found > 0 ? static_cast<std::size_t>(found) : 0;
  return found == 0;
}

void VerbsTransport::disarm() noexcept {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  while (adapter_->api().get_cq_event(adapter_->completion_channel(), &queue, &context) == 0)
    adapter_->api().ack_cq_events(queue, 1);
}

void VerbsTransport::shutdown() noexcept {
  if (std::exchange(shut_down_, true)) return;
  flush_sends();
  std::map<Rank, std::uint64_t> sent;
  for (const auto& [rank, link] : links_) sent[rank] = link->sent;
  on_service_thread([this, &sent] { control_->say_good_bye(sent); });
  for (const auto& [rank, link] : links_) {
    if (link->state == Link::State::draining) continue;
    link->state = Link::State::lost;
    link->may_post = false;
    link->lost_status = ErrorCode::cancelled;
    link->lost_detail = "this rank has shut its verbs transport down";
  }
}

}  // namespace godwit::verbs
