#include "verbs/adapter.hpp"

#include "verbs/fork_safety.hpp"
#include "verbs/queue_pair.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>

namespace godwit::verbs {
namespace {

constexpr std::uint32_t receives_at_once = 64;  // buffers are added in steps of this
constexpr std::uint32_t most_completions = 32768;
constexpr std::uint32_t fewest_sends = 8192;  // of all peers, when receives are many
// Of all ports; a longer list is more than a request to the kernel may have (64 KiB).
constexpr std::size_t most_gids = 0xffff / sizeof(ibv_gid_entry);

ibv_device* find(Api& api, ibv_device** list, std::string_view name) noexcept {
  for (ibv_device** entry = list; entry != nullptr && *entry != nullptr; ++entry)
    if (name == api.get_device_name(*entry)) return *entry;
  return nullptr;
}

}  // namespace

AdapterSettings AdapterSettings::from(const VerbsOptions& options) {
  const auto u8 = [](std::int64_t value) { return static_cast<std::uint8_t>(value); };
  const auto u32 = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  return {.send_depth = u32(*options.send_queue),
          .inline_bytes = u32(*options.inline_bytes),
          .message_bytes = static_cast<std::uint32_t>(options.message->value),
          .credits = u32(*options.credits),
          .usual_receives = u32(*options.receives),
          .pkey_index = static_cast<std::uint16_t>(*options.pkey),
          .traffic_class = u8(*options.traffic_class),
          .service_level = u8(*options.service_level),
          .timeout = u8(*options.timeout),
          .retry_count = u8(*options.retry_count),
          .mtu = u32(*options.mtu)};
}

Adapter::Adapter(core::Services& services, Api& api, const DeviceFacts& device, const PortChoice& choice,
                 const AdapterSettings& settings, unsigned rail)
    : api_(api),
      log_(services.log),
      settings_(settings),
      rail_(rail),
      name_(fmt::format("{}:{}", device.name, choice.port)),
      reason_(choice.reason),
      port_(static_cast<std::uint8_t>(choice.port)),
      inline_bytes_(settings.inline_bytes),
      iwarp_(device.protocol == Protocol::iwarp),
      atomics_(device.atomics && !iwarp_) {
  if (const Status status = prepare_for_fork(api); !status) services.log.warn("{}: {}", name_, status.message());
  open(device.name);
  describe(device, choice);
  make_queues();
  if (iwarp_) make_flush_words();
}

Adapter::~Adapter() = default;

void Adapter::refuse(const char* what) const {
  const int error = errno;
  throw Error(error == ENOMEM ? ErrorCode::no_memory : ErrorCode::transport,
              fmt::format("{}: {}: {}; see `godwit ibstat`, `ulimit -l`, or GODWIT_IB_HCA=^{} to do without it", name_,
                          what, std::strerror(error), name_));
}

void Adapter::open(const std::string& name) {
  int count = 0;
  ibv_device** list = api_.get_device_list(&count);
  if (list == nullptr) refuse("the list of adapters cannot be read");
  ibv_device* device = find(api_, list, name);
  errno = ENODEV;
  if (device != nullptr) context_ = {api_, api_.open_device(device)};
  const int error = errno;
  api_.free_device_list(list);
  errno = error;
  if (!context_) refuse("it cannot be opened");
}

void Adapter::describe(const DeviceFacts& device, const PortChoice& choice) {
  const auto port = std::ranges::find(device.ports, choice.port, &PortFacts::number);
  max_message_ = port->max_message;
  bandwidth_Bps_ = port->rate_Gbps * 1e9 / 8;
  end_.lid = port->lid;
  end_.link = port->link;
  end_.mtu = choice.mtu;
  rail_end_ = {choice.rail, device.protocol, port->link, port->rate_Gbps, {}, choice.distance};
  if (choice.gid && !iwarp_) rail_end_.gids.push_back(*choice.gid);
  end_.max_reads = static_cast<std::uint8_t>(std::clamp(device.max_reads, 1U, 16U));
  usual_receives_ = std::min(settings_.usual_receives, device.max_srq_requests);
  const std::uint32_t entries = std::min(most_completions, device.max_completions);
  if (entries <= usual_receives_ + settings_.send_depth) {
    errno = EINVAL;
    refuse("its completion queues are too short for GODWIT_IB_RECEIVES and GODWIT_IB_SEND_QUEUE");
  }
  const std::uint32_t sends = std::min(entries - usual_receives_, std::max(fewest_sends, settings_.send_depth));
  most_receives_ = std::min(entries - sends, device.max_srq_requests);
  send_budget_ = entries - most_receives_;
  if (iwarp_) {
    about_ = fmt::format("{}, iWARP over {}", name_, port->net_device.empty() ? "?" : port->net_device);
    return;
  }
  if (choice.gid) {
    end_.gid = choice.gid->gid;
    gid_index_ = choice.gid->index;
    gid_type_ = choice.gid->type;
  }
  global_route_ = choice.gid.has_value() && end_.link == LinkLayer::ethernet;
  about_ = choice.gid ? fmt::format("{}, GID {} {}", name_, gid_index_, to_text(end_.gid)) : name_;
}

void Adapter::make_queues() {
  domain_ = {api_, api_.alloc_pd(context_.get())};
  if (!domain_) refuse("no protection domain");
  channel_ = {api_, api_.create_comp_channel(context_.get())};
  if (!channel_) refuse("no completion channel");
  if (::fcntl(channel_->fd, F_SETFL, ::fcntl(channel_->fd, F_GETFL) | O_NONBLOCK) != 0)
    refuse("its completion channel");
  const auto entries = static_cast<int>(send_budget_ + most_receives_);
  completions_ = {api_, api_.create_cq(context_.get(), entries, nullptr, channel_.get())};
  if (!completions_) refuse("no completion queue");
  ibv_srq_init_attr shared{};
  shared.attr.max_wr = most_receives_;
  shared.attr.max_sge = 1;
  receive_queue_ = {api_, api_.create_srq(domain_.get(), &shared)};
  if (!receive_queue_) refuse("no shared receive queue");
  receive_buffers_.emplace(Domains(api_, {domain_.get()}), frame_bytes());
}

void Adapter::make_flush_words() {
  flush_words_ = std::make_unique<FlushWords>();
  flush_region_ = {api_, api_.reg_mr(domain_.get(), flush_words_.get(), sizeof(FlushWords), remote_access())};
  if (!flush_region_) refuse("16 bytes cannot be registered");
  flush_word_ = {reinterpret_cast<std::uint64_t>(&flush_words_->read_by_peers), flush_region_->rkey};
}

int Adapter::post_again(std::span<Buffer* const> buffers) noexcept {
  constexpr std::size_t at_once = 16;
  std::array<ibv_recv_wr, at_once> requests;
  std::array<ibv_sge, at_once> places;
  while (!buffers.empty()) {
    const std::size_t n = std::min(at_once, buffers.size());
    for (std::size_t i = 0; i < n; ++i) {
      places[i] = {reinterpret_cast<std::uint64_t>(buffers[i]->data), frame_bytes(), buffers[i]->lkey.on(0)};
      requests[i] = {receive_id(buffers[i]), i + 1 < n ? &requests[i + 1] : nullptr, &places[i], 1};
    }
    ibv_recv_wr* refused = nullptr;
    if (const int error = ibv_post_srq_recv(receive_queue_.get(), requests.data(), &refused); error != 0) return error;
    buffers = buffers.subspan(n);
  }
  return 0;
}

std::uint32_t Adapter::reserve_receives() {
  const std::lock_guard lock(receive_mutex_);
  const std::uint32_t left = usual_receives_ > reserved_ ? usual_receives_ - reserved_ : 0;
  const std::uint32_t wanted = settings_.credits + credit_frames;
  const std::uint32_t granted = std::min(wanted, std::max(left / 4, fewest_credits + credit_frames));
  reserve(granted);
  return granted - credit_frames;
}

void Adapter::reserve_receives(std::uint32_t credits) {
  const std::lock_guard lock(receive_mutex_);
  reserve(credits + credit_frames);
}

// Under receive_mutex_.
void Adapter::reserve(std::uint32_t granted) {
  if (reserved_ <= most_receives_ && reserved_ + granted > most_receives_)
    log_.warn(
        "{}: with so many peers it has fewer receives than they may use ({}). If all send at once some wait, which "
        "costs time; a smaller GODWIT_IB_SEND_QUEUE leaves more of the completion queue to receives",
        name_, most_receives_);
  reserved_ += granted;
  std::vector<Buffer*> added;
  try {
    while (receive_buffers_->count() < std::min(reserved_, most_receives_)) {
      receive_buffers_->grow(std::min<std::size_t>(receives_at_once, most_receives_ - receive_buffers_->count()));
      while (Buffer* buffer = receive_buffers_->take()) added.push_back(buffer);
    }
  } catch (...) {
    reserved_ -= granted;
    throw;
  }
  if (const int error = post_again(added); error != 0) {
    reserved_ -= granted;
    throw Error(ErrorCode::transport, fmt::format("{}: the shared receive queue takes no receive: {}; see `dmesg`",
                                                  name_, std::strerror(error)));
  }
}

void Adapter::release_receives(std::uint32_t credits) noexcept {
  const std::lock_guard lock(receive_mutex_);
  reserved_ -= credits + credit_frames;
}

std::string Adapter::look_again() {
  if (gone()) return gone_;
  ibv_port_attr attributes{};
  if (api_.query_port(context_.get(), port_, &attributes) != 0 || attributes.state != IBV_PORT_ACTIVE)
    return name_ + ": the port is down (`godwit ibstat`, cable, switch, `ip link`)";
  end_.lid = attributes.lid;
  if (!global_route_) return {};
  std::vector<ibv_gid_entry> entries(most_gids);
  const ssize_t count = api_.query_gid_table(context_.get(), entries.data(), entries.size());
  if (count < 0)
    return fmt::format("{}: its GID table cannot be read: {}", name_, std::strerror(static_cast<int>(-count)));
  entries.resize(static_cast<std::size_t>(count));
  const auto ours = std::ranges::find_if(entries, [this](const ibv_gid_entry& entry) {
    const bool version_2 = entry.gid_type == IBV_GID_TYPE_ROCE_V2;
    return entry.port_num == port_ && version_2 == (gid_type_ == GidType::roce_v2) &&
           std::memcmp(entry.gid.raw, end_.gid.data(), end_.gid.size()) == 0;
  });
  if (ours == entries.end())
    return fmt::format("{}: its GID {} is not there any more (`godwit ibstat`, `ip address`)", name_,
                       to_text(end_.gid));
  gid_index_ = ours->gid_index;
  return {};
}

std::size_t Adapter::receives() const noexcept {
  const std::lock_guard lock(receive_mutex_);
  return receive_buffers_->count();
}

}  // namespace godwit::verbs
