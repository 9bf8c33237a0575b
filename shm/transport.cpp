#include "shm/transport.hpp"

#include "core/core_options.hpp"
#include "core/segments.hpp"
#include "core/text.hpp"
#include "shm/endpoint.hpp"
#include "shm/key.hpp"
#include "shm/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace godwit::shm {

using core::Completion;

namespace {

// What is copied twice through the ring costs about 0.1 ns a byte more than what is copied once by a system call.
std::size_t message_payload() noexcept {
  constexpr double seconds_per_byte = 0.1e-9;
  constexpr std::size_t smallest = 8 << 10, largest = 32 << 10;
  const double call = Cma::overhead_s();
  if (call == 0) return largest;
  return std::clamp(std::bit_ceil(static_cast<std::size_t>(call / seconds_per_byte)), smallest, largest);
}

ControlSettings settings_from(const ShmOptions& options, Rank rank, std::string_view job_id) {
  ControlSettings settings;
  settings.rank = rank;
  settings.job = core::hash64(job_id);
  settings.max_message =
      sizeof(core::WireHeader) + (options.message->value != 0 ? options.message->value : message_payload());
  settings.ring_bytes = std::bit_ceil(std::max(options.ring->value, 4 * slots_for(settings.max_message) * slot_bytes));
  settings.cma = options.cma->value != "off";
  settings.cma_expected = options.cma->value == "on";
  return settings;
}

// The address: layout_version, then the socket's name.
constexpr std::size_t address_bytes = sizeof(layout_version) + sizeof(SocketName);

std::vector<std::byte> encode_address(const SocketName& name) {
  std::vector<std::byte> address(address_bytes);
  std::memcpy(address.data(), &layout_version, sizeof(layout_version));
  std::memcpy(address.data() + sizeof(layout_version), name.data(), name.size());
  return address;
}

PeerName name_of(const core::PeerInfo& peer) { return {peer.rank, peer.card->host_name, peer.card->pid}; }

}  // namespace

ShmTransport::ShmTransport(core::Services& services, Rank rank, std::string_view job_id, bool use_membarrier)
    : services_(services),
      rank_(rank),
      host_(core::Card::of_this_process(*services.options.get<core::CoreOptions>().host_id).host),
      bell_(use_membarrier),
      mailbox_(bell_) {
  const auto settings = settings_from(services.options.get<ShmOptions>(), rank, job_id);
  control_ = std::make_shared<Control>(services, settings, bell_, mailbox_);
  address_ = encode_address(control_->name());
  segment_listener_ =
      core::segments::on_release([service = &services.service, control = std::weak_ptr(control_)](std::uint64_t id) {
        service->post([control, id] {
          if (const auto alive = control.lock()) alive->announce_release(id);
        });
      });
}

ShmTransport::~ShmTransport() {
  segment_listener_.reset();
  on_service_thread([this] { control_.reset(); });
  control_.reset();  // the service thread has been stopped
}

template <class F>
void ShmTransport::on_service_thread(F&& work) noexcept {
  try {
    services_.service.call(work);
  } catch (const std::exception& error) {
    services_.log.debug("shm: {}", error.what());
  }
}

core::Reach ShmTransport::reaches(const core::PeerInfo& peer) const {
  if (peer.rank == rank_) return {false, "that is this rank itself"};
  if (peer.card->host.boot != host_.boot)
    return {false, fmt::format("other host (boot ids differ: {:x} and {:x})", host_.boot, peer.card->host.boot)};
  if (peer.card->host.net_namespace != host_.net_namespace)
    return {false, fmt::format("same host, other network namespace ({} and {}): shared memory is found through "
                               "sockets of the namespace",
                               host_.net_namespace, peer.card->host.net_namespace)};
  if (peer.address.empty()) return {false, "the peer has no shared-memory transport"};
  if (peer.address.size() != address_bytes ||
      std::memcmp(peer.address.data(), &layout_version, sizeof(layout_version)) != 0)
    return {false, "the peer's shared-memory layout is of another version of Godwit"};
  return {true, fmt::format("same host (boot id {:x}), same network namespace", host_.boot)};
}

std::unique_ptr<core::Endpoint> ShmTransport::open_endpoint(const core::PeerInfo& peer) {
  if (const auto gone = departed_.find(peer.rank); gone != departed_.end()) {
    auto lost = std::make_shared<Link>(name_of(peer));
    lost->lose(gone->second);
    completions_.lost(peer.rank, gone->second);
    return std::make_unique<ShmEndpoint>(lost, completions_, copying_, *control_, services_.service);
  }
  auto& link = links_[peer.rank];
  if (!link) {
    link = std::make_shared<Link>(name_of(peer));
    if (shut_down_) close(*link);
    SocketName name{};
    std::memcpy(name.data(), peer.address.data() + sizeof(layout_version), name.size());
    services_.service.post(
        [control = control_.get(), peer_name = link->peer, name] { control->connect(peer_name, name); });
  } else if (link->state != Link::State::connecting) {
    completions_.connected(peer.rank);
  }
  return std::make_unique<ShmEndpoint>(link, completions_, copying_, *control_, services_.service);
}

core::Registration ShmTransport::register_memory(std::span<std::byte> memory, MemoryKind kind) {
  if (kind == MemoryKind::device)
    throw Error(ErrorCode::not_supported, "the shared-memory transport cannot reach device memory");
  Key key;
  if (const auto segment = core::segments::find(memory))
    key = {.kind = KeyKind::segment,
           .segment = segment->id,
           .base = reinterpret_cast<std::uint64_t>(segment->base),
           .size = segment->size};
  return {{}, key.pack()};
}

std::size_t ShmTransport::poll(std::span<Completion> completions) noexcept {
  poller_.release();
  completions_.forget_words();
  if (!retired_.empty()) [[unlikely]]
    retired_.clear();
  if (mailbox_.pending()) [[unlikely]]
    handle_events();
  if (!copying_.empty()) [[unlikely]]
    copying_.step();
  std::size_t n = completions_.empty() ? 0 : completions_.take(completions);
  n += poller_.poll(completions.subspan(n));
  if (!draining_.empty()) [[unlikely]]
    n += finish_draining(completions.subspan(n));
  return n;
}

// A link has been reported lost after its peer's last store, so that an empty ring stays empty.
std::size_t ShmTransport::finish_draining(std::span<Completion> out) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < draining_.size() && n < out.size();) {
    const std::shared_ptr<Link> link = draining_[i];
    n += poller_.drain(*link, out.subspan(n));
    if (n == out.size() || link->in.ready()) {
      ++i;
      continue;
    }
    link->state = Link::State::lost;
    out[n++] = {.kind = Completion::Kind::peer_lost,
                .status = link->lost_status,
                .peer = link->rank(),
                .detail = completions_.keep(std::make_unique<std::string>(link->lost_detail))};
    departed_.try_emplace(link->rank(), link->lost_status, link->lost_detail);
    links_.erase(link->rank());
    poller_.remove(*link);
    retired_.push_back(link);
    draining_.erase(draining_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return n;
}

bool ShmTransport::arm() noexcept {
  bell_.begin_sleep();
  if (!mailbox_.pending() && completions_.empty() && copying_.empty() && draining_.empty() && !poller_.ready())
    return true;
  bell_.end_sleep();
  return false;
}

void ShmTransport::shutdown() noexcept {
  if (std::exchange(shut_down_, true)) return;
  copying_.withdraw();
  on_service_thread([this] { control_->say_good_bye(); });
  for (auto& [rank, link] : links_)
    if (link->state != Link::State::draining) close(*link);
}

void ShmTransport::close(Link& link) {
  link.lose({ErrorCode::cancelled, "this rank has shut its shared-memory transport down"});
}

}  // namespace godwit::shm
