#include "verbs/post.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <arpa/inet.h>

namespace godwit::verbs {
namespace {

constexpr std::size_t most_send_buffers = 1024;
constexpr std::size_t send_buffers_at_once = 64;

std::uint64_t address_of(const void* memory) noexcept { return reinterpret_cast<std::uint64_t>(memory); }

bool has_room(const Link& link, const Posting& posting, std::uint32_t requests = 1) noexcept {
  return link.may_post && link.under_way() + requests <= link.depth &&
         posting.under_way + requests <= link.connection->adapter.send_budget();
}

// nullptr: all are in use, or there is no memory for more, or not even for the first: then the link has failed.
Buffer* take_buffer(const std::shared_ptr<Link>& link, Posting& posting) noexcept {
  BufferPool& pool = link->connection->adapter.send_buffers();
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

// What the next work request is noted in, without what post() notes. It is free until that.
Slot& next_slot(Link& link, core::Op op) noexcept {
  Slot& slot = link.slot(link.posted);
  slot.op = op;
  slot.report = false;
  slot.buffer = nullptr;
  slot.copy_to = nullptr;
  slot.registered = nullptr;
  return slot;
}

// The request gets the next slot's number. A completion is asked for where one is needed, and often enough to keep the
// queue moving. What was posted is kept: a queue pair that replaces this one may have to post it again.
void post(const std::shared_ptr<Link>& link, Posting& posting, ibv_send_wr& request, Slot& slot) noexcept {
  Link& to = *link;
  // Buffers that many links hold without asking for their return would never come back.
  const bool scarce = slot.buffer != nullptr && to.connection->adapter.send_buffers().in_use() > most_send_buffers / 2;
  const bool wanted = slot.report || slot.copy_to != nullptr || slot.registered != nullptr || scarce;
  if (wanted || ++to.quiet >= to.depth / 4) {
    request.send_flags |= IBV_SEND_SIGNALED;
    to.quiet = 0;
  }
  request.wr_id = to.posted << 1;
  slot.opcode = static_cast<std::uint8_t>(request.opcode);
  slot.flags = static_cast<std::uint8_t>(request.send_flags);
  slot.immediate = request.imm_data;
  slot.remote = request.wr.rdma.remote_addr;
  slot.rkey = request.wr.rdma.rkey;
  slot.bytes = 0;
  if (request.num_sge != 0) {
    slot.local = request.sg_list->addr;
    slot.bytes = request.sg_list->length;
    slot.lkey = request.sg_list->lkey;
  }
  ++to.posted;
  ++posting.under_way;
  ibv_send_wr* refused = nullptr;
  const int error = ibv_post_send(to.connection->pair.get(), &request, &refused);
  if (error == 0) [[likely]]
    return;
  // Soft-iWARP hands over what write(2) returned.
  if (to.iwarp && (error == -1 ? errno : std::abs(error)) == ENOTCONN) {
    // The peer ended the connection, with a good-bye or without: the control plane is about to say which.
    to.may_post = false;
    return;
  }
  posting.fail(link, ErrorCode::transport,
               fmt::format("{} took no work request for {}: {}", to.connection->adapter.about(), to.peer.text(),
                           std::strerror(error)));
}

template <class T>
std::span<const std::byte, sizeof(T)> bytes_of(const T& value) noexcept {
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

// Not a call for the commonest size.
void copy_short(std::byte* to, std::span<const std::byte> data) noexcept {
  if (data.size() == sizeof(std::uint64_t)) [[likely]]
    std::memcpy(to, data.data(), sizeof(std::uint64_t));
  else if (!data.empty())
    std::memcpy(to, data.data(), data.size());
}

// Two parts into one message: copied into the work request where it is short, else into a registered buffer.
template <std::size_t n>
bool post_frame(const std::shared_ptr<Link>& link, Posting& posting, std::span<const std::byte, n> head,
                std::span<const std::byte> payload) noexcept {
  Link& to = *link;
  const std::size_t bytes = head.size() + payload.size();
  ibv_sge place{0, static_cast<std::uint32_t>(bytes), 0};
  ibv_send_wr request{};
  request.sg_list = &place;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  Slot& slot = next_slot(to, core::Op::send);
  std::byte* data = nullptr;
  if (bytes <= to.inline_bytes) [[likely]] {
    data = to.copy(to.posted);
    request.send_flags = IBV_SEND_INLINE;
  } else {
    slot.buffer = take_buffer(link, posting);
    if (slot.buffer == nullptr) return false;
    data = slot.buffer->data;
    place.lkey = slot.buffer->lkey;
  }
  std::memcpy(data, head.data(), n);
  copy_short(data + n, payload);
  place.addr = address_of(data);
  ++to.sent;
  post(link, posting, request, slot);
  return true;
}

Frame make_frame(Link& link, Frame::Kind kind) noexcept {
  Frame frame;
  frame.kind = kind;
  frame.credits = static_cast<std::uint16_t>(std::min<std::uint32_t>(link.owed, 0xffff));
  link.owed -= frame.credits;
  return frame;
}

enum class Reads : bool { no, yes };

// Soft-iWARP (Linux 6.1) sends wrong bytes where so few, not copied into the work request, cross a page.
constexpr std::size_t few_bytes = 64;
constexpr std::uint64_t page = 4096;

// How much of a get of few bytes goes before the end of a page at the peer; 0: all of it is within one.
std::size_t bytes_before_page(const core::WorkRequest& request) noexcept {
  if (request.op != core::Op::get || request.local.size() > few_bytes) return 0;
  const std::uint64_t left = page - request.remote.address % page;
  return left < request.local.size() ? left : 0;
}

// Where the adapter reads or writes the local side: in place if registered, else short ones in a buffer.
// False: no buffer left.
bool place_local(const std::shared_ptr<Link>& link, Posting& posting, const core::WorkRequest& request, Reads reads,
                 ibv_sge& place, Slot& slot, Status& failure) noexcept {
  const std::size_t bytes = request.local.size();
  place.length = static_cast<std::uint32_t>(bytes);
  place.addr = address_of(request.local.data());
  Adapter& adapter = link->connection->adapter;
  const bool few_to_send = link->iwarp && reads == Reads::no && bytes <= few_bytes;
  if (request.lkey.value != 0 && !few_to_send) {
    place.lkey = reinterpret_cast<const Registered*>(request.lkey.value)->lkey;
    return true;
  }
  if (bytes <= adapter.send_buffers().buffer_bytes()) {
    slot.buffer = take_buffer(link, posting);
    if (slot.buffer == nullptr) return false;
    place.addr = address_of(slot.buffer->data);
    place.lkey = slot.buffer->lkey;
    if (reads == Reads::yes) {
      slot.copy_to = request.local.data();
    } else {
      std::memcpy(slot.buffer->data, request.local.data(), bytes);
    }
    return true;
  }
  slot.registered = adapter.registrar().acquire(request.local, reads == Reads::yes ? adapter.sink_access() : 0);
  if (slot.registered != nullptr)
    place.lkey = slot.registered->lkey;
  else
    failure = adapter.registrar().failure();
  return true;
}

ibv_wr_opcode opcode_of(const core::WorkRequest& request, bool with_immediate) noexcept {
  switch (request.op) {
    case core::Op::get: return IBV_WR_RDMA_READ;
    case core::Op::fetch_add: return IBV_WR_ATOMIC_FETCH_AND_ADD;
    case core::Op::compare_swap: return IBV_WR_ATOMIC_CMP_AND_SWP;
    default: return with_immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
  }
}

void fill_flush(const Link& link, ibv_send_wr& request, ibv_sge& place) noexcept {
  // Without bytes neither address nor key are looked at (InfiniBand Architecture 1.5, C9-88).
  request.opcode = IBV_WR_RDMA_WRITE;
  if (!link.iwarp) return;
  const Connection& connection = *link.connection;
  place = connection.adapter.flush_sink();
  request.opcode = IBV_WR_RDMA_READ;
  request.sg_list = &place;
  request.num_sge = 1;
  request.wr.rdma = {connection.peer_flush.address, connection.peer_flush.rkey};
}

// iWARP has no write with immediate: a frame follows the write. `has_room` has been asked for both; it is inline.
void post_notify(const std::shared_ptr<Link>& link, Posting& posting, std::uint32_t imm) noexcept {
  if (!link->may_post) return;  // the write was not taken
  Frame frame = make_frame(*link, Frame::Kind::notify);
  frame.value = imm;
  post_frame(link, posting, bytes_of(frame), {});
}

void set_remote(ibv_send_wr& wr, const core::WorkRequest& request) noexcept {
  const auto rkey = static_cast<std::uint32_t>(request.remote.handle);
  if (request.op != core::Op::fetch_add && request.op != core::Op::compare_swap) {
    wr.wr.rdma = {request.remote.address, rkey};
    return;
  }
  const bool add = request.op == core::Op::fetch_add;
  wr.wr.atomic = {request.remote.address, add ? request.operand : request.compare, add ? 0 : request.operand, rkey};
}

// A get, for the page at `first`. If the first part fails, so does the second one, which reports it.
bool post_in_two(const std::shared_ptr<Link>& link, Posting& posting, const core::WorkRequest& request,
                 std::size_t first) {
  if (!has_room(*link, posting, 2)) return false;
  core::WorkRequest part = request;
  part.signalled = false;
  part.local = request.local.first(first);
  if (!post_request(link, posting, part)) return false;
  link->slot(link->posted - 1).op = core::Op::send;  // says nothing
  part = request;
  part.local = request.local.subspan(first);
  part.remote.address += first;
  return post_request(link, posting, part);
}

}  // namespace

bool post_message(const std::shared_ptr<Link>& link, Posting& posting, const core::WireHeader& header,
                  std::span<const std::byte> payload) noexcept {
  if (link->credits == 0 || !has_room(*link, posting)) [[unlikely]]
    return false;
  struct {
    Frame frame;
    core::WireHeader header;
  } head{make_frame(*link, Frame::Kind::message), header};
  static_assert(sizeof head == message_overhead);
  if (!post_frame(link, posting, bytes_of(head), payload)) [[unlikely]] {
    link->owed += head.frame.credits;
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
  wr.next = nullptr;
  wr.sg_list = &place;
  wr.num_sge = data.empty() ? 0 : 1;
  wr.send_flags = 0;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.wr.rdma = {remote.address, static_cast<std::uint32_t>(remote.handle)};
  Slot& slot = next_slot(to, core::Op::put);
  wr.imm_data = 0;
  if (data.size() <= to.inline_bytes) [[likely]] {
    wr.send_flags = IBV_SEND_INLINE;
    std::byte* const copy = to.copy(to.posted);
    copy_short(copy, data);
    place.addr = address_of(copy);
  } else {
    if (data.size() > to.connection->adapter.send_buffers().buffer_bytes()) return false;
    slot.buffer = take_buffer(link, posting);
    if (slot.buffer == nullptr) return false;
    std::memcpy(slot.buffer->data, data.data(), data.size());
    place.addr = address_of(slot.buffer->data);
    place.lkey = slot.buffer->lkey;
  }
  if (imm) {
    wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    wr.imm_data = htonl(*imm);
    --to.credits;
    ++to.sent;
  }
  post(link, posting, wr, slot);
  return true;
}

bool post_credits(const std::shared_ptr<Link>& link, Posting& posting) noexcept {
  if (!has_room(*link, posting)) return false;
  link->speaks_first = false;
  const Frame frame = make_frame(*link, Frame::Kind::credit);
  return post_frame(link, posting, bytes_of(frame), {});
}

bool post_flush(const std::shared_ptr<Link>& link, Posting& posting) noexcept {
  if (!has_room(*link, posting)) return false;
  ibv_send_wr request{};
  request.send_flags = IBV_SEND_SIGNALED;
  ibv_sge place{};
  fill_flush(*link, request, place);
  link->quiet = 0;
  post(link, posting, request, next_slot(*link, core::Op::send));
  return true;
}

bool post_request(const std::shared_ptr<Link>& link, Posting& posting, const core::WorkRequest& request) {
  Link& to = *link;
  if (to.iwarp) [[unlikely]] {
    if (const std::size_t first = bytes_before_page(request); first != 0)
      return post_in_two(link, posting, request, first);
  }
  const bool atomic = request.op == core::Op::fetch_add || request.op == core::Op::compare_swap;
  if (atomic && to.capabilities.atomics == core::AtomicsDomain::none) [[unlikely]] {
    posting.completions.failed(to.rank(), request.cookie, ErrorCode::not_supported,
                               "atomics are not executed by the adapter here: ask the target's CPU");
    return true;
  }
  const bool notify_follows = request.imm && to.iwarp;
  if (!has_room(to, posting, notify_follows ? 2 : 1) || (request.imm && to.credits == 0)) [[unlikely]]
    return false;
  if (request.op == core::Op::flush && to.under_way() == 0 && !to.iwarp) {
    if (request.signalled) posting.completions.done(to.rank(), request.cookie);
    return true;
  }
  Slot& slot = next_slot(to, request.op);
  slot.cookie = request.cookie;
  slot.report = request.signalled;
  ibv_sge place{};
  ibv_send_wr wr{};
  wr.opcode = opcode_of(request, request.imm && !notify_follows);
  wr.sg_list = &place;
  wr.num_sge = request.local.empty() || request.op == core::Op::flush ? 0 : 1;
  // iWARP refuses it on reads, which find what was written before in any case.
  if (request.fence && !(to.iwarp && request.op != core::Op::put)) wr.send_flags |= IBV_SEND_FENCE;
  set_remote(wr, request);
  if (request.op == core::Op::flush) {
    fill_flush(to, wr, place);
  } else if (wr.num_sge == 1 && request.op == core::Op::put && request.local.size() <= to.inline_bytes) {
    std::byte* const copy = to.copy(to.posted);
    copy_short(copy, request.local);
    place = {address_of(copy), static_cast<std::uint32_t>(request.local.size()), 0};
    wr.send_flags |= IBV_SEND_INLINE;
  } else if (wr.num_sge == 1) {
    Status failure;
    if (!place_local(link, posting, request, request.op == core::Op::put ? Reads::no : Reads::yes, place, slot,
                     failure))
      return false;
    if (!failure.ok()) {
      posting.completions.failed(to.rank(), request.cookie, failure.code(), failure.message());
      return true;
    }
  }
  if (request.imm) --to.credits;
  if (request.imm && !notify_follows) {
    wr.imm_data = htonl(*request.imm);
    ++to.sent;
  }
  post(link, posting, wr, slot);
  if (notify_follows) [[unlikely]]
    post_notify(link, posting, *request.imm);
  return true;
}

void retire(Link& link, Posting& posting, std::uint64_t number, bool succeeded) noexcept {
  Adapter& adapter = link.connection->adapter;
  for (; link.completed <= number; ++link.completed, --posting.under_way) {
    Slot& slot = link.slot(link.completed);
    if (slot.copy_to != nullptr && succeeded) std::memcpy(slot.copy_to, slot.buffer->data, slot.bytes);
    if (slot.buffer != nullptr) adapter.send_buffers().give(slot.buffer);
    if (slot.registered != nullptr) adapter.registrar().release(slot.registered);
  }
}

}  // namespace godwit::verbs
