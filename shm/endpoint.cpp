#include "shm/endpoint.hpp"

#include "core/atomic_word.hpp"
#include "core/text.hpp"
#include "shm/key.hpp"

#include <fmt/format.h>

namespace godwit::shm {

using core::Op;
using core::WorkRequest;

namespace {

const char* name_of(Op op) noexcept {
  switch (op) {
    case Op::send: return "send";
    case Op::put: return "put";
    case Op::get: return "get";
    case Op::fetch_add: return "fetch_add";
    case Op::compare_swap: return "compare_swap";
    case Op::flush: return "flush";
  }
  return "?";
}

}  // namespace

ShmEndpoint::ShmEndpoint(std::shared_ptr<Link> link, core::Completions& completions, Copying& copying, Control& control,
                         core::ServiceThread& service)
    : link_(std::move(link)), completions_(completions), copying_(copying), control_(control), service_(service) {
  ++link_->endpoints;
}

ShmEndpoint::~ShmEndpoint() { --link_->endpoints; }

std::size_t ShmEndpoint::post(std::span<const WorkRequest> requests) noexcept {
  if (link_->state != Link::State::open) [[unlikely]]
    return refuse(requests);
  std::size_t n = 0;
  while (n < requests.size() && completions_.has_room() && post_one(requests[n])) ++n;
  if (n != 0) link_->bell.ring();
  return n;
}

bool ShmEndpoint::send(const core::WireHeader& header, std::span<const std::byte> payload) noexcept {
  if (link_->state != Link::State::open || payload.size() > link_->capabilities.max_inline) [[unlikely]]
    return Endpoint::send(header, payload);
  if (!link_->out.send(header, payload)) return false;
  link_->bell.ring();
  return true;
}

bool ShmEndpoint::put(std::span<const std::byte> data, core::RemoteAddress remote,
                      const std::optional<std::uint32_t>& imm) noexcept {
  std::byte* const target = mapped_at(remote, data.size());
  if (target == nullptr || (imm && !link_->out.has_room())) return false;
  core::copy_bytes(target, data);
  if (!imm) return true;
  link_->out.notify(*imm);
  link_->bell.ring();
  return true;
}

bool ShmEndpoint::get(std::span<std::byte> data, core::RemoteAddress remote) noexcept {
  const std::byte* const source = mapped_at(remote, data.size());
  if (source == nullptr) return false;
  core::copy_bytes(data.data(), source, data.size());
  return true;
}

bool ShmEndpoint::atomic(Op op, core::RemoteAddress remote, std::uint64_t operand, std::uint64_t compare,
                         std::uint64_t& before) noexcept {
  std::byte* const target = mapped_at(remote, sizeof(before));
  if (target == nullptr || remote.address % sizeof(before) != 0) return false;
  before = core::execute_atomic(op, target, operand, compare);
  return true;
}

bool ShmEndpoint::post_one(const WorkRequest& request) {
  if (request.fence && link_->joint.busy()) [[unlikely]]
    return false;
  if (request.op == Op::send) [[likely]] {
    if (request.local.size() > link_->capabilities.max_inline) [[unlikely]] {
      fail(request, ErrorCode::invalid_argument,
           fmt::format("{} bytes are more than max_message", request.local.size()));
      return true;
    }
    if (!link_->out.send(request.header, request.local)) return false;
    done(request);
    return true;
  }
  return execute(request);
}

// All but large gets is executed at once and in order, so that a flush finds nothing to do.
bool ShmEndpoint::execute(const WorkRequest& request) {
  if (request.op == Op::flush) {
    done(request);
    return true;
  }
  if (request.imm && !link_->out.has_room()) return false;
  if (link_->joint.takes(request) && link_->remote.cma().works()) return copying_.start(link_, request);
  Status failure;
  switch (link_->remote.execute(request, failure)) {
    case RemoteMemory::Outcome::later: return false;
    case RemoteMemory::Outcome::failed: fail(request, failure.code(), failure.message()); return true;
    case RemoteMemory::Outcome::done: break;
  }
  if (request.imm) link_->out.notify(*request.imm);
  done(request);
  return true;
}

void ShmEndpoint::fail(const WorkRequest& request, ErrorCode code, const std::string& words) {
  completions_.failed(link_->rank(), request.cookie, code,
                      fmt::format("{} to {} over shm: {}", name_of(request.op), link_->peer.text(), words));
}

// Not open: either it comes later, or it will never come.
std::size_t ShmEndpoint::refuse(std::span<const WorkRequest> requests) {
  if (link_->state != Link::State::lost) return 0;
  std::size_t n = 0;
  for (; n < requests.size() && completions_.has_room(); ++n)
    fail(requests[n], link_->lost_status == ErrorCode::ok ? ErrorCode::peer_failed : link_->lost_status,
         link_->lost_detail);
  return n;
}

std::optional<std::uint64_t> ShmEndpoint::import_key(const core::PackedKey& key) noexcept {
  std::optional<std::uint64_t> wanted;
  const auto handle = link_->remote.import(key, wanted);
  if (wanted)
    service_.post([control = &control_, peer = link_->rank(), id = *wanted] { control->request_segment(peer, id); });
  return handle;
}

bool ShmEndpoint::has_atomics(std::uint64_t handle) const noexcept { return handle != private_handle; }

std::string ShmEndpoint::describe() const {
  const auto& cma = link_->remote.cma();
  return fmt::format("shm to {}: same host; rings of {}, messages up to {}; private memory {}", link_->peer.text(),
                     core::format_size(link_->ring_bytes), core::format_size(link_->capabilities.max_inline),
                     cma.works() ? "by cross-memory attach" : "not reachable: " + cma.reason());
}

}  // namespace godwit::shm
