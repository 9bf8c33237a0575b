// Parts of posting that several files of it share: room, buffers, and the way into the queue. Threads: the worker's.
#pragma once

#include "verbs/posting.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace godwit::verbs {

inline constexpr std::size_t most_send_buffers = 1024;

inline std::uint64_t address_of(const void* memory) noexcept { return reinterpret_cast<std::uint64_t>(memory); }

inline bool has_room(const Link& link, const Posting& posting, std::uint32_t requests = 1) noexcept {
  return link.may_post && link.under_way() + requests <= link.depth &&
         posting.under_way + requests <= posting.send_budget;
}

/// nullptr: all are in use, or there is no memory for more, or not even for the first: then the link has failed.
Buffer* take_buffer(const std::shared_ptr<Link>& link, Posting& posting) noexcept;
/// ibv_post_send() has returned `error`.
void not_taken(const std::shared_ptr<Link>& link, Posting& posting, int error) noexcept;

/// Fills in only what is looked at: zeroing the rest costs more than all else.
inline void prepare(ibv_send_wr& request, ibv_wr_opcode opcode, ibv_sge* places, int count) noexcept {
  request.next = nullptr;
  request.sg_list = places;
  request.num_sge = count;
  request.opcode = opcode;
  request.send_flags = 0;
  request.imm_data = 0;
  request.wr.rdma = {};
}

/// What was posted stays in the slot: a queue pair that replaces this one may have to post it again, over another rail,
/// too. The keys are the caller's to fill in, where any are needed.
inline void keep(Slot& slot, const ibv_send_wr& request) noexcept {
  slot.opcode = static_cast<std::uint8_t>(request.opcode);
  slot.flags = static_cast<std::uint8_t>(request.send_flags);
  slot.immediate = request.imm_data;
  slot.remote = request.wr.rdma.remote_addr;
  slot.bytes = 0;
  if (request.num_sge == 0) return;
  slot.local = request.sg_list->addr;
  slot.bytes = request.sg_list->length;
}

/// The request gets the next slot's number; of that slot cookie, op, report and holds have been filled in, and what it
/// holds. A completion is asked for where one is needed, and often enough to keep the queue moving.
inline void hand_over(const std::shared_ptr<Link>& link, Posting& posting, ibv_send_wr& request, bool wanted) noexcept {
  Link& to = *link;
  if (wanted || ++to.quiet >= to.depth / 4) {
    request.send_flags |= IBV_SEND_SIGNALED;
    to.quiet = 0;
  }
  request.wr_id = to.posted << 1;
  keep(to.slot(to.posted), request);
  ++to.posted;
  ++posting.under_way;
  ibv_send_wr* refused = nullptr;
  if (const int error = ibv_post_send(to.connection->pair.get(), &request, &refused); error != 0) [[unlikely]]
    not_taken(link, posting, error);
}

/// The same with a slot that is filled in here.
void hand_over(const std::shared_ptr<Link>& link, Posting& posting, ibv_send_wr& request, Slot& slot) noexcept;

Frame make_frame(Link& link, Frame::Kind kind) noexcept;
/// False: no buffer left.
bool post_frame(const std::shared_ptr<Link>& link, Posting& posting, const Frame& frame) noexcept;
void fill_flush(const Link& link, ibv_send_wr& request, ibv_sge& place) noexcept;

}  // namespace godwit::verbs
