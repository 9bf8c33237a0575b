// ibv_post_send, ibv_post_recv, ibv_post_srq_recv: checks, and the copy into the queue.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "fake_verbs/world.hpp"

namespace godwit::fake_verbs {
namespace {

bool is_atomic(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/// 0, EINVAL, or what soft-iWARP answers.
int check_opcode(const QueuePair& pair, ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_SEND:
    case IBV_WR_RDMA_READ: return 0;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
    case IBV_WR_SEND_WITH_IMM: return pair.device->is_iwarp() ? -EINVAL : 0;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      if (pair.device->is_iwarp()) return -EINVAL;
      return pair.device->setup.facts.atomics ? 0 : EINVAL;
    default: return EINVAL;
  }
}

int check(const QueuePair& pair, const ibv_send_wr& request) {
  if (pair.device->removed) return EIO;
  if (pair.condition != IBV_QPS_RTS && pair.condition != IBV_QPS_ERR) return EINVAL;
  if (const int error = check_opcode(pair, request.opcode)) return error;
  if (request.num_sge < 0 || static_cast<unsigned>(request.num_sge) > pair.most_pieces_per_request) return EINVAL;
  return pair.posted - std::min(pair.freed, pair.sent) == pair.requests.size() ? ENOMEM : 0;
}

/// Soft-RoCE takes it for nothing, other adapters for 2 GiB.
void check_lengths(const ProcessState& process, const ibv_sge* pieces, int count) {
  for (int i = 0; i < count; ++i) {
    if (pieces[i].length == 0) process.world->defect(process.name + ": a scatter/gather entry of length 0");
  }
}

/// EINVAL: too long to be inline.
int copy_pieces(QueuePair& pair, SendRequest& slot, const ibv_send_wr& request) {
  const ibv_sge* const pieces = request.sg_list;
  std::size_t bytes = 0;
  for (int i = 0; i < request.num_sge; ++i) bytes += pieces[i].length;
  slot.bytes = static_cast<std::uint32_t>(bytes);
  slot.pieces = static_cast<std::uint8_t>(request.num_sge);
  slot.inlined = (request.send_flags & IBV_SEND_INLINE) != 0;
  if (!slot.inlined) {
    std::copy_n(pieces, request.num_sge, pair.pieces_of(pair.posted));
    return 0;
  }
  if (bytes > pair.most_inline || request.opcode == IBV_WR_RDMA_READ || is_atomic(request.opcode)) return EINVAL;
  std::byte* to = pair.inline_of(pair.posted);
  for (int i = 0; i < request.num_sge; ++i) {
    std::memcpy(to, reinterpret_cast<const void*>(pieces[i].addr), pieces[i].length);
    to += pieces[i].length;
  }
  return 0;
}

/// The test's wish for this request.
void force(ProcessState& process, SendRequest& slot) {
  for (auto& wish : process.forced) {
    if (wish.opcode != slot.opcode || --wish.nth != 0) continue;
    slot.forced = wish.status;
    slot.forced_executed = wish.executed == Executed::yes;
  }
  std::erase_if(process.forced, [](const auto& wish) { return wish.nth == 0; });
}

int enqueue(QueuePair& pair, const ibv_send_wr& request) {
  ProcessState& process = *pair.home->process;
  if (const int error = process.count(Call::post_send)) return error;
  if (const int error = check(pair, request)) return error;
  check_lengths(process, request.sg_list, request.num_sge);
  SendRequest& slot = pair.request(pair.posted);
  if (const int error = copy_pieces(pair, slot, request)) return error;
  slot.wr_id = request.wr_id;
  slot.opcode = request.opcode;
  slot.immediate = request.imm_data;
  if (is_atomic(request.opcode)) {
    slot.remote = request.wr.atomic.remote_addr;
    slot.rkey = request.wr.atomic.rkey;
    slot.compare_add = request.wr.atomic.compare_add;
    slot.swap = request.wr.atomic.swap;
  } else {
    slot.remote = request.wr.rdma.remote_addr;
    slot.rkey = request.wr.rdma.rkey;
  }
  slot.signalled = pair.all_signalled || (request.send_flags & IBV_SEND_SIGNALED) != 0;
  slot.fenced = (request.send_flags & IBV_SEND_FENCE) != 0;
  slot.solicited = (request.send_flags & IBV_SEND_SOLICITED) != 0;
  slot.status = slot.forced = IBV_WC_SUCCESS;
  slot.forced_executed = slot.not_ready = slot.kept = false;
  slot.order = process.world->next_order++;
  if (!process.forced.empty()) force(process, slot);
  ++pair.posted;
  return 0;
}

int post_receives(ProcessState& process, Call call, ReceiveQueue& queue, ibv_recv_wr* request, ibv_recv_wr** bad) {
  for (; request != nullptr; request = request->next) {
    int error = process.count(call);
    if (error == 0) error = queue.post(*request);
    if (error != 0) {
      *bad = request;
      return error;
    }
    check_lengths(process, request->sg_list, request->num_sge);
  }
  return 0;
}

}  // namespace

ReceiveQueue::ReceiveQueue(unsigned slots, unsigned pieces)
    : capacity(slots), most(pieces), requests(slots), entries(std::size_t{slots} * pieces) {}

int ReceiveQueue::post(const ibv_recv_wr& request) {
  if (request.num_sge < 0 || static_cast<unsigned>(request.num_sge) > most) return EINVAL;
  if (posted - freed == capacity) return ENOMEM;
  const std::size_t slot = posted % capacity;
  requests[slot] = {request.wr_id, static_cast<unsigned>(request.num_sge)};
  std::copy_n(request.sg_list, request.num_sge, entries.data() + slot * most);
  ++posted;
  return 0;
}

ReceiveQueue::Request& ReceiveQueue::front(ibv_sge*& pieces) {
  const std::size_t slot = taken % capacity;
  pieces = entries.data() + slot * most;
  return requests[slot];
}

int post_send(ibv_qp* handle, ibv_send_wr* request, ibv_send_wr** bad) noexcept {
  auto& pair = static_cast<QueuePair&>(*handle);
  ProcessState& process = *pair.home->process;
  World& world = *process.world;
  const std::lock_guard lock(world.mutex);
  if (process.dead) return 0;
  ++process.counters.doorbells;
  int error = 0;
  for (; request != nullptr; request = request->next) {
    error = enqueue(pair, *request);
    if (error == 0) continue;
    *bad = request;
    break;
  }
  if (pair.condition == IBV_QPS_ERR) {
    flush(pair);
  } else {
    advance(world, pair);
  }
  return error;
}

int post_recv(ibv_qp* handle, ibv_recv_wr* request, ibv_recv_wr** bad) noexcept {
  auto& pair = static_cast<QueuePair&>(*handle);
  ProcessState& process = *pair.home->process;
  World& world = *process.world;
  const std::lock_guard lock(world.mutex);
  if (process.dead) return 0;
  if (pair.condition == IBV_QPS_RESET || pair.shared != nullptr) {
    *bad = request;
    return EINVAL;
  }
  const int error = post_receives(process, Call::post_recv, pair.own_receives, request, bad);
  if (pair.condition == IBV_QPS_ERR) flush(pair);
  world.kick();
  return error;
}

int post_srq_recv(ibv_srq* handle, ibv_recv_wr* request, ibv_recv_wr** bad) noexcept {
  auto& queue = static_cast<SharedReceiveQueue&>(*handle);
  ProcessState& process = *queue.owner->owner->process;
  const std::lock_guard lock(process.world->mutex);
  if (process.dead) return 0;
  const int error = post_receives(process, Call::post_srq_recv, queue.queue, request, bad);
  process.world->kick();
  return error;
}

}  // namespace godwit::fake_verbs
