#include "verbs/post.hpp"

#include "core/copy.hpp"
#include "verbs/hand_over.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <arpa/inet.h>

namespace godwit::verbs {
namespace {

constexpr std::size_t send_buffers_at_once = 64;
// A get of so many bytes goes to its place at once if that is registered; for fewer a copy is cheaper than the look.
constexpr std::size_t worth_looking_up = 512;

// Nothing is to be done after it.
inline void post_quiet(const std::shared_ptr<Link>& link, Posting& posting, ibv_send_wr& request, core::Op op,
                       Keys rkeys = {}) noexcept {
  Slot& slot = link->slot(link->posted);
  slot.cookie = 0;
  slot.op = op;
  slot.rkeys = rkeys;
  slot.report = slot.holds = false;
  hand_over(link, posting, request, false);
}

// False: no buffer left.
[[gnu::noinline]] bool post_long_frame(const std::shared_ptr<Link>& link, Posting& posting,
                                       std::span<const std::byte> head, std::span<const std::byte> payload) noexcept {
  Slot slot;
  slot.buffer = take_buffer(link, posting);
  if (slot.buffer == nullptr) return false;
  std::memcpy(slot.buffer->data, head.data(), head.size());
  if (!payload.empty()) std::memcpy(slot.buffer->data + head.size(), payload.data(), payload.size());
  ibv_sge place{address_of(slot.buffer->data), static_cast<std::uint32_t>(head.size() + payload.size()),
                slot.buffer->lkey.after(link->key_shift)};
  slot.lkeys = slot.buffer->lkey;
  ibv_send_wr request;
  prepare(request, IBV_WR_SEND, &place, 1);
  hand_over(link, posting, request, slot);
  return true;
}

// A short put from a registered buffer. False: too long for one, or none left.
[[gnu::noinline]] bool post_copy(const std::shared_ptr<Link>& link, Posting& posting, ibv_send_wr& request,
                                 std::span<const std::byte> data, Keys rkeys) noexcept {
  if (data.size() > posting.memory->send_buffers.buffer_bytes()) return false;
  Slot slot;
  slot.op = core::Op::put;
  slot.buffer = take_buffer(link, posting);
  if (slot.buffer == nullptr) return false;
  std::memcpy(slot.buffer->data, data.data(), data.size());
  request.sg_list->addr = address_of(slot.buffer->data);
  request.sg_list->lkey = slot.buffer->lkey.after(link->key_shift);
  slot.lkeys = slot.buffer->lkey;
  slot.rkeys = rkeys;
  hand_over(link, posting, request, slot);
  return true;
}

template <class... Heads>
inline void write_heads(std::byte* to, const Heads&... heads) noexcept {
  ((std::memcpy(to, &heads, sizeof heads), to += sizeof heads), ...);
}

// Parts into one message: copied into the work request where it is short, else into a registered buffer.
template <class... Heads>
inline bool post_parts(const std::shared_ptr<Link>& link, Posting& posting, std::span<const std::byte> payload,
                       const Heads&... heads) noexcept {
  constexpr std::size_t head_bytes = (sizeof(Heads) + ...);
  if (head_bytes + payload.size() > link->inline_bytes) [[unlikely]] {
    std::array<std::byte, head_bytes> head;
    write_heads(head.data(), heads...);
    if (!post_long_frame(link, posting, head, payload)) return false;
  } else {
    std::byte* const data = link->copy(link->posted);
    write_heads(data, heads...);
    core::copy_bytes(data + head_bytes, payload);
    ibv_sge place{address_of(data), static_cast<std::uint32_t>(head_bytes + payload.size()), 0};
    ibv_send_wr request;
    prepare(request, IBV_WR_SEND, &place, 1);
    request.send_flags = IBV_SEND_INLINE;
    post_quiet(link, posting, request, core::Op::send);
  }
  ++link->sent;
  return true;
}

}  // namespace

Buffer* take_buffer(const std::shared_ptr<Link>& link, Posting& posting) noexcept {
  BufferPool& pool = posting.memory->send_buffers;
  if (Buffer* buffer = pool.take()) [[likely]]
    return buffer;
  if (pool.count() >= most_send_buffers) return nullptr;
  try {
    pool.grow(send_buffers_at_once);
  } catch (const Error& error) {
    if (pool.count() == 0) posting.fail(link, error.code(), error.what());
    return nullptr;  // those in use come back
  }
  return pool.take();
}

void not_taken(const std::shared_ptr<Link>& link, Posting& posting, int error) noexcept {
  Link& to = *link;
  // Soft-iWARP hands over what write(2) returned.
  if (to.iwarp && (error == -1 ? errno : std::abs(error)) == ENOTCONN) {
    // The peer ended the connection, with a good-bye or without: the control plane is about to say which.
    to.may_post = false;
    return;
  }
  std::string why = fmt::format("{} took no work request for {}: {}", to.connection->adapter().about(), to.peer.text(),
                                std::strerror(error));
  if (is_gone(error) && to.connection->routes.size() > 1) {
    to.may_post = false;
    posting.refused.emplace_back(link, std::move(why));
  } else {
    posting.fail(link, ErrorCode::transport, std::move(why));
  }
}

void hand_over(const std::shared_ptr<Link>& link, Posting& posting, ibv_send_wr& request, Slot& slot) noexcept {
  slot.holds = slot.buffer != nullptr || slot.registered != nullptr;
  // Buffers that many links hold without asking for their return would never come back.
  const bool scarce = slot.buffer != nullptr && posting.memory->send_buffers.in_use() > most_send_buffers / 2;
  link->slot(link->posted) = slot;
  hand_over(link, posting, request, slot.report || slot.copy_to != nullptr || slot.registered != nullptr || scarce);
}

Frame make_frame(Link& link, Frame::Kind kind) noexcept {
  Frame frame;
  frame.kind = kind;
  frame.credits = static_cast<std::uint16_t>(std::min<std::uint32_t>(link.owed, 0xffff));
  link.owed -= frame.credits;
  return frame;
}

bool post_frame(const std::shared_ptr<Link>& link, Posting& posting, const Frame& frame) noexcept {
  return post_parts(link, posting, {}, frame);
}

void fill_flush(const Link& link, ibv_send_wr& request, ibv_sge& place) noexcept {
  // Without bytes neither address nor key are looked at (InfiniBand Architecture 1.5, C9-88).
  request.opcode = IBV_WR_RDMA_WRITE;
  if (!link.iwarp) return;
  const Connection& connection = *link.connection;
  place = connection.adapter().flush_sink();
  request.opcode = IBV_WR_RDMA_READ;
  request.sg_list = &place;
  request.num_sge = 1;
  request.wr.rdma = {connection.peer_flush.address, connection.peer_flush.rkey};
}

bool post_message(const std::shared_ptr<Link>& link, Posting& posting, const core::WireHeader& header,
                  std::span<const std::byte> payload) noexcept {
  if (link->credits == 0 || !has_room(*link, posting)) [[unlikely]]
    return false;
  const Frame frame = make_frame(*link, Frame::Kind::message);
  static_assert(sizeof frame + sizeof header == message_overhead);
  if (!post_parts(link, posting, payload, frame, header)) [[unlikely]] {
    link->owed += frame.credits;
    return false;
  }
  --link->credits;
  return true;
}

bool post_short_put(const std::shared_ptr<Link>& link, Posting& posting, std::span<const std::byte> data,
                    core::RemoteAddress remote, const std::optional<std::uint32_t>& imm) noexcept {
  Link& to = *link;
  if (!has_room(to, posting) || (imm && (to.credits == 0 || to.iwarp))) [[unlikely]]
    return false;
  ibv_sge place{0, static_cast<std::uint32_t>(data.size()), 0};
  ibv_send_wr wr;
  prepare(wr, IBV_WR_RDMA_WRITE, &place, data.empty() ? 0 : 1);
  const Keys rkeys{remote.handle};
  wr.wr.rdma = {remote.address, rkeys.after(to.peer_key_shift)};
  if (imm) {
    wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    wr.imm_data = htonl(*imm);
  }
  if (data.size() <= to.inline_bytes) [[likely]] {
    std::byte* const copy = to.copy(to.posted);
    core::copy_bytes(copy, data);
    place.addr = address_of(copy);
    wr.send_flags = IBV_SEND_INLINE;
    post_quiet(link, posting, wr, core::Op::put, rkeys);
  } else if (!post_copy(link, posting, wr, data, rkeys)) {
    return false;
  }
  if (imm) {
    --to.credits;
    ++to.sent;
  }
  return true;
}

bool post_short_get(const std::shared_ptr<Link>& link, Posting& posting, std::span<std::byte> data,
                    core::RemoteAddress remote, std::uint64_t cookie) noexcept {
  if (!has_room(*link, posting) || link->iwarp || data.size() > posting.memory->send_buffers.buffer_bytes())
      [[unlikely]]
    return false;
  const Registered* const known = data.size() >= worth_looking_up ? posting.memory->registrar.acquire_known(
                                                                        data, link->connection->adapter().sink_access())
                                                                  : nullptr;
  Buffer* const buffer = known == nullptr ? take_buffer(link, posting) : nullptr;
  if (known == nullptr && buffer == nullptr) [[unlikely]]
    return false;
  Slot& slot = link->slot(link->posted);
  slot.cookie = cookie;
  slot.op = core::Op::get;
  slot.report = slot.holds = true;
  slot.buffer = buffer;
  slot.copy_to = known == nullptr ? data.data() : nullptr;
  slot.registered = known;
  slot.lkeys = known == nullptr ? buffer->lkey : known->lkey;
  slot.rkeys = {remote.handle};
  ibv_sge place{address_of(known == nullptr ? buffer->data : data.data()), static_cast<std::uint32_t>(data.size()),
                slot.lkeys.after(link->key_shift)};
  ibv_send_wr request;
  prepare(request, IBV_WR_RDMA_READ, &place, 1);
  request.wr.rdma = {remote.address, slot.rkeys.after(link->peer_key_shift)};
  hand_over(link, posting, request, true);
  return true;
}

bool post_credits(const std::shared_ptr<Link>& link, Posting& posting) noexcept {
  if (!has_room(*link, posting)) return false;
  link->speaks_first = false;
  return post_frame(link, posting, make_frame(*link, Frame::Kind::credit));
}

bool post_flush(const std::shared_ptr<Link>& link, Posting& posting) noexcept {
  if (!has_room(*link, posting)) return false;
  ibv_send_wr request;
  ibv_sge place{};
  prepare(request, IBV_WR_RDMA_WRITE, &place, 0);
  fill_flush(*link, request, place);
  link->slot(link->posted) = {};
  hand_over(link, posting, request, true);
  return true;
}

void give_back(Memory& memory, const Slot& slot, bool succeeded) noexcept {
  if (slot.copy_to != nullptr && succeeded) core::copy_bytes(slot.copy_to, slot.buffer->data, slot.bytes);
  if (slot.buffer != nullptr) memory.send_buffers.give(slot.buffer);
  if (slot.registered != nullptr) memory.registrar.release(slot.registered);
}

}  // namespace godwit::verbs
