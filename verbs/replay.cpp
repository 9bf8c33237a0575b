#include "verbs/replay.hpp"

#include "verbs/hand_over.hpp"
#include "verbs/post.hpp"

#include <fmt/format.h>

namespace godwit::verbs {
namespace {

void post_again(const std::shared_ptr<Link>& link, Posting& posting, std::uint64_t number) {
  const Slot& slot = link->slot(number);
  ibv_sge place{slot.local, slot.bytes, slot.lkeys.after(link->key_shift)};
  ibv_send_wr request;
  prepare(request, static_cast<ibv_wr_opcode>(slot.opcode), &place, slot.bytes == 0 ? 0 : 1);
  request.wr_id = number << 1;
  request.send_flags = slot.flags | IBV_SEND_SIGNALED;
  request.imm_data = slot.immediate;
  request.wr.rdma = {slot.remote, slot.rkeys.after(link->peer_key_shift)};
  ibv_send_wr* refused = nullptr;
  if (const int error = ibv_post_send(link->connection->pair.get(), &request, &refused); error != 0)
    not_taken(link, posting, error);
}

// Nothing is left of it but its place in the order of completions.
void make_empty(Slot& slot) noexcept {
  slot.opcode = IBV_WR_RDMA_WRITE;
  slot.flags = 0;
  slot.bytes = 0;
}

bool is_atomic(const Slot& slot) noexcept {
  return slot.op == core::Op::fetch_add || slot.op == core::Op::compare_swap;
}

// To do it once more could do it twice, and what it found has not come back.
void fail_atomic(Link& link, Posting& posting, Slot& slot, bool executed) {
  if (slot.report)
    posting.completions.failed_later(
        link.rank(), slot.cookie, ErrorCode::transport,
        fmt::format("an atomic was under way to {} when the connection failed and was rebuilt: {}, and it is not "
                    "repeated; read the word to find out",
                    link.peer.text(),
                    executed ? "it was executed, but what it found is lost" : "whether it was executed is not known"));
  slot.report = false;
  slot.copy_to = nullptr;
  make_empty(slot);
}

}  // namespace

std::uint64_t acknowledged(Link& link) noexcept {
  std::uint64_t frames = link.sent;
  for (std::uint64_t number = link.completed; number < link.posted; ++number)
    if (link.slot(number).counted()) --frames;
  return frames;
}

std::uint64_t replay(const std::shared_ptr<Link>& link, Posting& posting, std::uint64_t received) {
  std::uint64_t executed = link->completed;  // those before it
  std::uint64_t frames = acknowledged(*link);
  for (std::uint64_t number = link->completed; number < link->posted; ++number)
    if (link->slot(number).counted() && ++frames <= received) executed = number + 1;
  for (std::uint64_t number = link->completed; number < link->posted; ++number)
    if (Slot& slot = link->slot(number); is_atomic(slot)) fail_atomic(*link, posting, slot, number < executed);
  const auto is_done = [&](std::uint64_t number) {
    return number < executed && link->slot(number).opcode != IBV_WR_RDMA_READ;
  };
  std::uint64_t first = link->completed;
  for (; is_done(first); ++first)
    if (const Slot& slot = link->slot(first); slot.report) posting.completions.done_later(link->rank(), slot.cookie);
  if (first > link->completed) retire(*link, posting, first - 1, true);
  link->quiet = 0;
  for (std::uint64_t number = first; number < link->posted && link->may_post; ++number) {
    if (is_done(number)) make_empty(link->slot(number));
    post_again(link, posting, number);
  }
  return link->posted - first;
}

}  // namespace godwit::verbs
