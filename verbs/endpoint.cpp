#include "verbs/endpoint.hpp"

#include "verbs/key.hpp"

#include <fmt/format.h>

namespace godwit::verbs {

VerbsEndpoint::VerbsEndpoint(std::shared_ptr<Link> link, Posting& posting) : link_(std::move(link)), posting_(posting) {
  ++link_->endpoints;
}

VerbsEndpoint::~VerbsEndpoint() { --link_->endpoints; }

bool VerbsEndpoint::send(const core::WireHeader& header, std::span<const std::byte> payload) noexcept {
  return post_message(link_, posting_, header, payload);
}

std::size_t VerbsEndpoint::post(std::span<const core::WorkRequest> requests) noexcept {
  if (link_->state == Link::State::lost) [[unlikely]]
    return refuse(requests);
  std::size_t accepted = 0;
  for (const core::WorkRequest& request : requests) {
    if (!posting_.completions.has_room()) break;
    if (request.op == core::Op::send) {
      if (!post_message(link_, posting_, request.header, request.local)) break;
      // The payload has been copied.
      if (request.signalled) posting_.completions.done(link_->rank(), request.cookie);
    } else if (!post_request(link_, posting_, request)) {
      break;
    }
    ++accepted;
  }
  return accepted;
}

std::size_t VerbsEndpoint::refuse(std::span<const core::WorkRequest> requests) {
  std::size_t accepted = 0;
  for (const core::WorkRequest& request : requests) {
    if (!posting_.completions.has_room()) break;
    posting_.completions.failed(link_->rank(), request.cookie,
                                link_->lost_status == ErrorCode::ok ? ErrorCode::peer_failed : link_->lost_status,
                                link_->lost_detail);
    ++accepted;
  }
  return accepted;
}

std::optional<std::uint64_t> VerbsEndpoint::import_key(const core::PackedKey& packed) noexcept {
  const auto key = Key::unpack(packed);
  Keys keys;
  for (unsigned rail = 0; key && rail < most_rails_in_use; ++rail) keys.set(rail, key->rkeys[rail]);
  return key ? std::optional<std::uint64_t>(keys.value) : std::nullopt;
}

std::string VerbsEndpoint::trouble() const {
  if (link_->state != Link::State::recovering) return {};
  return fmt::format("the RDMA connection is being rebuilt, attempt {}: {}", link_->recovery.attempts,
                     link_->recovery.why);
}

std::string VerbsEndpoint::describe() const {
  if (!link_->connection) return fmt::format("verbs: connecting to {}", link_->peer.text());
  const Connection& connection = *link_->connection;
  const QueuePair& pair = connection.pair;
  return fmt::format("verbs: {} (QP {}) to {} (QP {}), MTU {}, inline {}, {} messages under way at most; {}",
                     connection.adapter().about(), pair.address().number, connection.peer_port(), pair.peer().number,
                     pair.mtu(), link_->inline_bytes, connection.credits, connection.adapter().reason());
}

}  // namespace godwit::verbs
