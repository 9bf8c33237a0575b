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
  open_rails(api, devices, choices);
  make_epoll();
  const std::optional<GidEntry>& gid = choices.ports.front().gid;
  const std::string net_device = gid ? gid->net_device : std::string();
  std::vector<RailEnd> ends;
  for (const auto& adapter : adapters_) ends.push_back(adapter->rail_end());
  self_.rails = from_wire(to_wire(ends));  // as the peers see them
  self_.hosts =
      reachable_hosts(core::interface_addresses(*services.options.get<core::CoreOptions>().socket_ifname), net_device);
  make_control(job_id, self_.rails.front().protocol, net_device, cm_api);
  self_.port = control_->listening_port();
  address_ = encode(self_);
}

// The first one must work; what others cannot do is said, and they are left out.
void VerbsTransport::open_rails(Api& api, const std::vector<DeviceFacts>& devices, const PortChoices& choices) {
  const auto& options = services_.options.get<VerbsOptions>();
  const bool one_for_atomics = services_.options.get<core::CoreOptions>().atomics->value == "adapter";
  const std::size_t wanted = one_for_atomics ? 1 : rails_in_use(devices, choices.ports, options);
  std::vector<ibv_pd*> domains;
  for (const PortChoice& port : std::span(choices.ports).first(wanted)) {
    const auto rail = static_cast<unsigned>(adapters_.size());
    try {
      adapters_.push_back(
          std::make_unique<Adapter>(services_, api, devices[port.device], port, AdapterSettings::from(options), rail));
    } catch (const Error& error) {
      if (rail == 0) throw;
      services_.log.warn("verbs: not used as another rail: {}", error.what());
      continue;
    }
    const Adapter& adapter = *adapters_.back();
    services_.log.info("verbs: rail {}: {}: {}", rail, adapter.about(), adapter.reason());
    domains.push_back(adapter.domain());
  }
  if (adapters_.size() > 1) agree_inline();
  agree_atomics();
  for (const auto& adapter : adapters_) rails_.emplace_back(*adapter);
  const auto budget = [](const auto& adapter) { return adapter->send_budget(); };
  posting_.send_budget = budget(*std::ranges::min_element(adapters_, {}, budget));
  const Adapter& first = *adapters_.front();
  posting_.memory =
      std::unique_ptr<Memory>(new Memory{Registrar(Domains(api, domains), options, services_.log),
                                         BufferPool(Domains(api, domains), first.frame_bytes(), first.sink_access())});
}

// Peers reach memory over any rail, and the atomics of two adapters are not atomic to each other.
void VerbsTransport::agree_atomics() {
  const bool all = (remote_access() & IBV_ACCESS_REMOTE_ATOMIC) != 0;
  atomics_ = all && std::ranges::all_of(adapters_, [&](const auto& adapter) {
               return adapter->device_name() == adapters_.front()->device_name();
             });
  if (all && !atomics_)
    services_.log.info(
        "verbs: this rank's CPU executes atomics on its memory, because those of two adapters are not atomic to each "
        "other; GODWIT_IB_RAILS=1 or GODWIT_ATOMICS=adapter uses one only");
}

int VerbsTransport::remote_access() const noexcept {
  int access = adapters_.front()->remote_access();
  for (const auto& adapter : adapters_) access &= adapter->remote_access();
  return access;
}

// What is posted may have to be posted again over another rail, so each must take as much into the work request.
void VerbsTransport::agree_inline() {
  std::uint32_t least = adapters_.front()->settings().inline_bytes;
  for (const auto& adapter : adapters_) least = std::min(least, QueuePair(*adapter).inline_bytes());
  for (const auto& adapter : adapters_) adapter->limit_inline(least);
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
    const Adapter& adapter = *adapters_.front();
    if (adapter.global_route()) cm->addresses.insert(cm->addresses.begin(), adapter.end().gid);
  }
  try {
    control_ = std::make_unique<Control>(services_, rank_, job_id, adapters_, self_.rails, mailbox_, cm);
  } catch (const Error& error) {
    // Not an error, as above: between hosts it explains what is slow or missing.
    if (error.code() == ErrorCode::not_supported) services_.log.warn("verbs: not used: {}", error.what());
    throw;
  }
}

void VerbsTransport::make_epoll() {
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  std::vector<int> descriptors{mailbox_.event_fd()};
  for (const auto& adapter : adapters_) descriptors.push_back(adapter->completion_channel()->fd);
  for (const int fd : descriptors) {
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
    if (!atomics_) return {false, "that is this rank itself"};
    return {true, fmt::format("{} executes atomics of its own rank, too", adapters_.front()->about())};
  }
  if (peer.address.empty()) return {false, "the peer has no verbs transport"};
  const auto there = decode_address(peer.address);
  if (!there) return {false, "the peer's verbs transport is of another version of Godwit"};
  const auto routes = find_routes(self_.rails, there->rails, rank_, peer.rank, false);
  if (routes.empty())
    return {false,
            there->rails.empty() ? "the peer has no port" : cannot_connect(self_.rails.front(), there->rails.front())};
  return {true, fmt::format("both have an active port: {} here", adapters_[routes.front().here]->about())};
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
    Adapter& adapter = *adapters_.front();
    LinkMade made{name_of(self), std::make_unique<Connection>(QueuePair(adapter), std::vector<Route>{Route{}}, 0,
                                                              std::make_shared<Receives>(adapter))};
    Connection& connection = *made.connection;
    connection.pair.connect(connection.pair.address());
    connection.credits = connection.granted;
    connection.peer_buffer = adapter.frame_bytes();
    connection.peer_ports.front() = adapter.about();
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
  capabilities.max_rdma = largest_piece;
  for (const auto& adapter : adapters_) capabilities.max_rdma = std::min(capabilities.max_rdma, adapter->max_message());
  const Adapter& adapter = connection.adapter();
  capabilities.rma = capabilities.private_rma = true;
  // iWARP: the notification is a message of its own, that must find room.
  capabilities.put_notify = !adapter.iwarp() || connection.pair.inline_bytes() >= sizeof(Frame);
  capabilities.put_done = adapter.iwarp() ? core::PutDone::local : core::PutDone::remote;
  capabilities.early_put = true;
  capabilities.atomics =
      (remote_access() & IBV_ACCESS_REMOTE_ATOMIC) != 0 ? core::AtomicsDomain::adapter : core::AtomicsDomain::none;
  capabilities.latency_s = wire_latency_s;
  capabilities.bandwidth_Bps = adapter.bandwidth_Bps();
  capabilities.message_Bps = 1 / (1 / adapter.bandwidth_Bps() + 2 / copy_Bps);
  // A request and an answer, and the registration of private memory at both ends.
  capabilities.rma_overhead_s = 2 * wire_latency_s + (posting_.memory->registrar.caching() ? 0 : 2 * registration_s);
  return capabilities;
}

core::Registration VerbsTransport::register_memory(std::span<std::byte> memory, MemoryKind kind) {
  if (kind == MemoryKind::device)
    throw Error(ErrorCode::not_supported, "the verbs transport does not reach device memory yet");
  if (memory.empty()) return {{}, Key{}.pack()};
  // Constants cannot be written: that is enough for a message.
  const Registered* registered = hold(memory, remote_access());
  const bool atomics = registered != nullptr && atomics_;
  if (registered == nullptr) registered = hold(memory, IBV_ACCESS_REMOTE_READ);
  if (registered == nullptr) throw Error(posting_.memory->registrar.failure());
  Key key;
  for (unsigned rail = 0; rail < adapters_.size(); ++rail) key.rkeys[rail] = registered->rkey.on(rail);
  return {{reinterpret_cast<std::uint64_t>(registered)}, key.pack(), atomics};
}

// Without a cache as a region, which puts and gets from this memory find; with one they find all that is registered.
const Registered* VerbsTransport::hold(std::span<std::byte> memory, int access) {
  Registrar& registrar = posting_.memory->registrar;
  return registrar.caching() ? registrar.acquire(memory, access) : registrar.try_register_region(memory, access);
}

void VerbsTransport::deregister_memory(const core::Registration& registration) noexcept {
  if (registration.lkey.value == 0) return;
  const auto* registered = reinterpret_cast<const Registered*>(registration.lkey.value);
  Registrar& registrar = posting_.memory->registrar;
  if (registrar.caching())
    registrar.release(registered);
  else
    registrar.deregister_region(*registered);
}

bool VerbsTransport::arm() noexcept {
  if (mailbox_.pending() || !posting_.completions.empty() || !posting_.failing.empty() || !posting_.refused.empty() ||
      !draining_.empty() || !recoveries_sleep())
    return false;
  for (const Rail& rail : rails_)
    if (!rail.consumed.empty() || rail.waiting_entries > 0) return false;
  for (Rail& rail : rails_) {
    if (rail.failed) continue;
    if (ibv_req_notify_cq(rail.adapter.completion_queue(), 0) != 0) return false;
    // What came before the request to be told is not told.
    const int found = ibv_poll_cq(rail.adapter.completion_queue(), 1, rail.entries.data());
    rail.waiting_entries = found > 0 ? static_cast<std::size_t>(found) : 0;
    if (found != 0) return false;
  }
  return true;
}

void VerbsTransport::disarm() noexcept {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  for (const auto& adapter : adapters_)
    while (adapter->api().get_cq_event(adapter->completion_channel(), &queue, &context) == 0)
      adapter->api().ack_cq_events(queue, 1);
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
