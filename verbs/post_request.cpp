// Work requests of every kind: what is not short, reads and writes in place.
#include "core/copy.hpp"
#include "verbs/hand_over.hpp"
#include "verbs/post.hpp"

#include <cstring>

#include <arpa/inet.h>

namespace godwit::verbs {
namespace {

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
  const bool few_to_send = link->iwarp && reads == Reads::no && bytes <= few_bytes;
  if (request.lkey.value != 0 && !few_to_send) {
    slot.lkeys = reinterpret_cast<const Registered*>(request.lkey.value)->lkey;
    place.lkey = slot.lkeys.after(link->key_shift);
    return true;
  }
  if (bytes <= posting.memory->send_buffers.buffer_bytes()) {
    slot.buffer = take_buffer(link, posting);
    if (slot.buffer == nullptr) return false;
    place.addr = address_of(slot.buffer->data);
    slot.lkeys = slot.buffer->lkey;
    place.lkey = slot.lkeys.after(link->key_shift);
    if (reads == Reads::yes) {
      slot.copy_to = request.local.data();
    } else {
      std::memcpy(slot.buffer->data, request.local.data(), bytes);
    }
    return true;
  }
  Registrar& registrar = posting.memory->registrar;
  slot.registered =
      registrar.acquire(request.local, reads == Reads::yes ? link->connection->adapter().sink_access() : 0);
  if (slot.registered != nullptr) {
    slot.lkeys = slot.registered->lkey;
    place.lkey = slot.lkeys.after(link->key_shift);
  } else {
    failure = registrar.failure();
  }
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

// iWARP has no write with immediate: a frame follows the write. `has_room` has been asked for both; it is inline.
void post_notify(const std::shared_ptr<Link>& link, Posting& posting, std::uint32_t imm) noexcept {
  if (!link->may_post) return;  // the write was not taken
  Frame frame = make_frame(*link, Frame::Kind::notify);
  frame.value = imm;
  post_frame(link, posting, frame);
}

void set_remote(const Link& link, ibv_send_wr& wr, const core::WorkRequest& request) noexcept {
  const std::uint32_t rkey = Keys{request.remote.handle}.after(link.peer_key_shift);
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
  Slot slot;
  slot.cookie = request.cookie;
  slot.op = request.op;
  slot.report = request.signalled;
  ibv_sge place{};
  ibv_send_wr wr;
  prepare(wr, opcode_of(request, request.imm && !notify_follows), &place,
          request.local.empty() || request.op == core::Op::flush ? 0 : 1);
  // iWARP refuses it on reads, which find what was written before in any case.
  if (request.fence && !(to.iwarp && request.op != core::Op::put)) wr.send_flags |= IBV_SEND_FENCE;
  set_remote(to, wr, request);
  slot.rkeys = {request.remote.handle};
  if (request.op == core::Op::flush) {
    fill_flush(to, wr, place);
  } else if (wr.num_sge == 1 && request.op == core::Op::put && request.local.size() <= to.inline_bytes) {
    std::byte* const copy = to.copy(to.posted);
    core::copy_bytes(copy, request.local);
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
  hand_over(link, posting, wr, slot);
  if (notify_follows) [[unlikely]]
    post_notify(link, posting, *request.imm);
  return true;
}

}  // namespace godwit::verbs
