#include "fake_verbs/execution.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace godwit::fake_verbs {
namespace {

bool has_immediate(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/// The responder's end of an error: its queue pair fails, too.
ibv_wc_status refuse(World& world, QueuePair& peer, ibv_event_type event, ibv_wc_status status) {
  raise(peer, event);
  enter_error(world, peer);
  return status;
}

ibv_wc_status refuse_access(World& world, QueuePair& peer) {
  return refuse(world, peer, IBV_EVENT_QP_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
}

ibv_wc_status refuse_request(World& world, QueuePair& peer) {
  return refuse(world, peer, IBV_EVENT_QP_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
}

bool allows(const QueuePair& peer, int access) { return (peer.attributes.qp_access_flags & access) != 0; }

/// A receive of the peer, or none: then it is counted and, where retries end, an error.
ReceiveQueue::Request* receive_for(QueuePair& pair, QueuePair& peer, SendRequest& request, ibv_sge*& pieces,
                                   std::optional<ibv_wc_status>& otherwise) {
  ReceiveQueue& receives = peer.receives();
  if (!receives.empty()) return &receives.front(pieces);
  if (!request.not_ready) ++pair.home->process->counters.not_ready;
  request.not_ready = true;
  if (!pair.device->is_iwarp() && pair.attributes.rnr_retry != 7) otherwise = IBV_WC_RNR_RETRY_EXC_ERR;
  return nullptr;
}

/// The test's wish for this receive.
ibv_wc_status forced_receive(ProcessState& process) {
  auto wished = IBV_WC_SUCCESS;
  for (auto& [left, status] : process.forced_receives) {
    if (--left == 0) wished = status;
  }
  std::erase_if(process.forced_receives, [](const auto& entry) { return entry.first == 0; });
  return wished;
}

ibv_wc_status scatter(World& world, const QueuePair& peer, const ReceiveQueue::Request& receive, const ibv_sge* pieces,
                      const Pieces& from) {
  Pieces to;
  std::size_t room = 0;
  for (unsigned i = 0; i < receive.pieces; ++i) room += pieces[i].length;
  if (room < from.total) return IBV_WC_LOC_LEN_ERR;
  for (unsigned i = 0; i < receive.pieces && to.total < from.total; ++i) {
    std::byte* const data = world.regions.local(pieces[i], *peer.owner, IBV_ACCESS_LOCAL_WRITE);
    if (data == nullptr) return IBV_WC_LOC_PROT_ERR;
    to.add(data, pieces[i].length);
  }
  copy(from, to);
  return IBV_WC_SUCCESS;
}

/// What the sender is told of an error of the receiver.
ibv_wc_status as_seen_by_sender(ibv_wc_status status) {
  if (status == IBV_WC_SUCCESS) return status;
  return status == IBV_WC_LOC_LEN_ERR ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_REM_OP_ERR;
}

ibv_wc_status write(World& world, QueuePair& peer, const SendRequest& request, const Pieces& local) {
  if (!allows(peer, IBV_ACCESS_REMOTE_WRITE)) return refuse_access(world, peer);
  if (local.total == 0) return IBV_WC_SUCCESS;  // no key is looked at
  std::byte* const data =
      world.regions.remote(request.rkey, request.remote, local.total, *peer.owner, IBV_ACCESS_REMOTE_WRITE);
  if (data == nullptr) return refuse_access(world, peer);
  Pieces to;
  to.add(data, local.total);
  copy(local, to);
  return IBV_WC_SUCCESS;
}

std::optional<ibv_wc_status> send(World& world, QueuePair& pair, QueuePair& peer, SendRequest& request,
                                  const Pieces& local) {
  ibv_sge* pieces = nullptr;
  std::optional<ibv_wc_status> otherwise;
  ReceiveQueue::Request* const receive = receive_for(pair, peer, request, pieces, otherwise);
  if (receive == nullptr) return otherwise;
  const bool written = request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  if (written) {
    const ibv_wc_status status = write(world, peer, request, local);
    if (status != IBV_WC_SUCCESS) return status;
  }
  ++peer.receives().taken;
  ibv_wc completion{};
  completion.opcode = written ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
  completion.byte_len = static_cast<std::uint32_t>(local.total);
  if (has_immediate(request.opcode)) {
    completion.wc_flags = IBV_WC_WITH_IMM;
    completion.imm_data = request.immediate;
  }
  completion.status =
      peer.home->process->forced_receives.empty() ? IBV_WC_SUCCESS : forced_receive(*peer.home->process);
  if (completion.status == IBV_WC_SUCCESS && !written)
    completion.status = scatter(world, peer, *receive, pieces, local);
  const ibv_wc_status status = as_seen_by_sender(completion.status);
  complete_receive(peer, *receive, completion, request.solicited);
  if (status != IBV_WC_SUCCESS) enter_error(world, peer);
  return status;
}

ibv_wc_status respond(QueuePair& pair, SendRequest& request, const Pieces& from, const Pieces& local) {
  if (pair.hold == Hold::nothing) {
    copy(from, local);
  } else {
    keep(request, from);
  }
  return IBV_WC_SUCCESS;
}

ibv_wc_status read(World& world, QueuePair& pair, QueuePair& peer, SendRequest& request, const Pieces& local) {
  if (pair.attributes.max_rd_atomic > peer.attributes.max_dest_rd_atomic) return refuse_request(world, peer);
  if (!allows(peer, IBV_ACCESS_REMOTE_READ)) return refuse_access(world, peer);
  if (local.total == 0) return IBV_WC_SUCCESS;
  std::byte* const data =
      world.regions.remote(request.rkey, request.remote, local.total, *peer.owner, IBV_ACCESS_REMOTE_READ);
  if (data == nullptr) return refuse_access(world, peer);
  Pieces from;
  from.add(data, local.total);
  return respond(pair, request, from, local);
}

ibv_wc_status atomic(World& world, QueuePair& pair, QueuePair& peer, SendRequest& request, const Pieces& local) {
  if (pair.attributes.max_rd_atomic > peer.attributes.max_dest_rd_atomic) return refuse_request(world, peer);
  if (!allows(peer, IBV_ACCESS_REMOTE_ATOMIC)) return refuse_access(world, peer);
  std::byte* const data = world.regions.remote(request.rkey, request.remote, 8, *peer.owner, IBV_ACCESS_REMOTE_ATOMIC);
  if (data == nullptr) return refuse_access(world, peer);
  if (request.remote % 8 != 0 || reinterpret_cast<std::uintptr_t>(data) % 8 != 0) return refuse_request(world, peer);
  const std::atomic_ref word(*reinterpret_cast<std::uint64_t*>(data));
  // In two steps, as adapters do it: atomic to other atomics of theirs (under the world's lock), not to a CPU's.
  const bool add = request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
  std::uint64_t before = word.load();
  if (add || before == request.compare_add) word.store(add ? before + request.compare_add : request.swap);
  Pieces from;
  from.add(reinterpret_cast<std::byte*>(&before), 8);
  return respond(pair, request, from, local);
}

bool fits_packets(const QueuePair& pair, const QueuePair& peer, std::size_t bytes) {
  return pair.attributes.path_mtu <= peer.attributes.path_mtu ||
         bytes <= (std::size_t{128} << static_cast<unsigned>(peer.attributes.path_mtu));
}

}  // namespace

void keep(SendRequest& request, const Pieces& local) {
  request.kept = true;
  request.payload.resize(local.total);
  Pieces to;
  to.add(request.payload.data(), local.total);
  copy(local, to);
}

ibv_wc_status collect(World& world, QueuePair& pair, std::uint64_t number, Pieces& local) {
  SendRequest& request = pair.request(number);
  const bool reads = request.opcode == IBV_WR_RDMA_READ;
  const bool fetches = request.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
  if (request.kept && !reads && !fetches) {
    local.add(request.payload.data(), request.payload.size());
    return IBV_WC_SUCCESS;
  }
  if (request.inlined) {
    local.add(pair.inline_of(number), request.bytes);
    return IBV_WC_SUCCESS;
  }
  int access = reads || fetches ? IBV_ACCESS_LOCAL_WRITE : 0;
  if (reads && pair.device->is_iwarp()) access |= IBV_ACCESS_REMOTE_WRITE;  // the response is a write there
  const ibv_sge* const entries = pair.pieces_of(number);
  for (unsigned i = 0; i < request.pieces; ++i) {
    std::byte* const data = world.regions.local(entries[i], *pair.owner, access);
    if (data == nullptr) return IBV_WC_LOC_PROT_ERR;
    local.add(data, entries[i].length);
  }
  if (local.total > pair.port->facts.max_message) return IBV_WC_LOC_LEN_ERR;
  if (fetches && local.total != 8) return IBV_WC_LOC_LEN_ERR;
  return (reads || fetches) && pair.attributes.max_rd_atomic == 0 ? IBV_WC_LOC_QP_OP_ERR : IBV_WC_SUCCESS;
}

std::optional<ibv_wc_status> execute(World& world, QueuePair& pair, QueuePair& peer, SendRequest& request,
                                     const Pieces& local) {
  if (peer.condition == IBV_QPS_RTR && !peer.established) {
    peer.established = true;
    raise(peer, IBV_EVENT_COMM_EST);
  }
  if (!fits_packets(pair, peer, local.total)) return refuse_request(world, peer);
  switch (request.opcode) {
    case IBV_WR_RDMA_WRITE: return write(world, peer, request, local);
    case IBV_WR_RDMA_READ: return read(world, pair, peer, request, local);
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD: return atomic(world, pair, peer, request, local);
    default: return send(world, pair, peer, request, local);
  }
}

ibv_wc_status place_response(World& world, QueuePair& pair, std::uint64_t number) {
  SendRequest& request = pair.request(number);
  Pieces local;
  const ibv_wc_status status = collect(world, pair, number, local);
  if (status != IBV_WC_SUCCESS) return status;
  Pieces from;
  from.add(request.payload.data(), request.payload.size());
  copy(from, local);
  return IBV_WC_SUCCESS;
}

}  // namespace godwit::fake_verbs
