// Queue pairs: completions, and what happens to outstanding requests in ERR and RESET.
#include "fake_verbs/world.hpp"

namespace godwit::fake_verbs {
namespace {

constexpr std::uint32_t garbage = 0xa5a5a5a5;  // in fields that a caller must not read

ibv_wc_opcode opcode_of(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM: return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ: return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP: return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD: return IBV_WC_FETCH_ADD;
    default: return IBV_WC_SEND;
  }
}

/// Of an error only wr_id, status, qp_num and vendor_err are defined.
void spoil(ibv_wc& completion) {
  completion.opcode = static_cast<ibv_wc_opcode>(0x5a);
  completion.byte_len = garbage;
  completion.imm_data = garbage;
  completion.wc_flags = garbage;
  completion.vendor_err = 0x80U | static_cast<std::uint32_t>(completion.status);
}

}  // namespace

QueuePair::QueuePair(Domain* domain, const ibv_qp_init_attr& wanted)
    : ibv_qp{},
      owner(domain),
      home(domain->owner),
      device(domain->owner->adapter),
      sends(static_cast<CompletionQueue*>(wanted.send_cq)),
      receptions(static_cast<CompletionQueue*>(wanted.recv_cq)),
      shared(static_cast<SharedReceiveQueue*>(wanted.srq)),
      all_signalled(wanted.sq_sig_all != 0),
      most_pieces_per_request(wanted.cap.max_send_sge),
      most_inline(wanted.cap.max_inline_data),
      own_receives(wanted.srq != nullptr ? 0 : wanted.cap.max_recv_wr,
                   wanted.srq != nullptr ? 0 : wanted.cap.max_recv_sge),
      requests(wanted.cap.max_send_wr),
      entries(std::size_t{wanted.cap.max_send_wr} * wanted.cap.max_send_sge),
      inlined(wanted.cap.max_send_wr * std::size_t{wanted.cap.max_inline_data}) {
  context = domain->context;
  qp_context = wanted.qp_context;
  pd = domain;
  send_cq = wanted.send_cq;
  recv_cq = wanted.recv_cq;
  srq = wanted.srq;
  qp_type = wanted.qp_type;
  condition = state = IBV_QPS_RESET;
  attributes.cap = wanted.cap;
}

void complete_send(QueuePair& pair, SendRequest& request) {
  ++pair.done;
  if (!request.signalled && request.status == IBV_WC_SUCCESS) return;
  CompletionQueue::Entry entry;  // NOLINT(cppcoreguidelines-pro-type-member-init): all of it is set here
  entry.pair = &pair;
  entry.receive = nullptr;
  entry.send_end = pair.done;
  entry.solicited = false;
  ibv_wc& completion = entry.completion;
  completion = {};
  completion.wr_id = request.wr_id;
  completion.status = request.status;
  completion.opcode = opcode_of(request.opcode);
  completion.byte_len = request.bytes;
  completion.qp_num = pair.qp_num;
  if (request.status != IBV_WC_SUCCESS) spoil(completion);
  pair.sends->add(entry);
}

void complete_receive(QueuePair& pair, ReceiveQueue::Request& request, const ibv_wc& completion, bool solicited) {
  CompletionQueue::Entry entry;  // NOLINT(cppcoreguidelines-pro-type-member-init): all of it is set here
  entry.pair = &pair;
  entry.receive = &pair.receives();
  entry.send_end = 0;
  entry.solicited = solicited;
  entry.completion = completion;
  entry.completion.wr_id = request.wr_id;
  entry.completion.qp_num = pair.qp_num;
  if (completion.status != IBV_WC_SUCCESS) spoil(entry.completion);
  pair.receptions->add(entry);
}

void enter_error(World& world, QueuePair& pair) {
  if (pair.condition == IBV_QPS_ERR) return;
  pair.condition = IBV_QPS_ERR;
  ++world.epoch;
  flush(pair);
  if (pair.shared != nullptr) raise(pair, IBV_EVENT_QP_LAST_WQE_REACHED);
}

void flush(QueuePair& pair) {
  if (pair.home->process->dead) return;
  while (pair.done < pair.posted) {
    SendRequest& request = pair.request(pair.done);
    request.status = IBV_WC_WR_FLUSH_ERR;
    complete_send(pair, request);
  }
  pair.sent = pair.posted;
  if (pair.shared != nullptr) return;
  ibv_wc flushed{};
  flushed.status = IBV_WC_WR_FLUSH_ERR;
  while (!pair.own_receives.empty()) {
    ibv_sge* pieces = nullptr;
    ReceiveQueue::Request& request = pair.own_receives.front(pieces);
    ++pair.own_receives.taken;
    complete_receive(pair, request, flushed, false);
  }
}

void enter_reset(QueuePair& pair) {
  pair.sends->forget(pair);
  pair.receptions->forget(pair);
  pair.posted = pair.sent = pair.done = pair.freed = 0;
  ReceiveQueue& own = pair.own_receives;
  own.posted = own.taken = own.freed = 0;
  pair.failing = pair.silent = pair.established = false;
  pair.condition = IBV_QPS_RESET;
  const ibv_qp_cap cap = pair.attributes.cap;
  pair.attributes = {};
  pair.attributes.cap = cap;
  pair.port = nullptr;
}

}  // namespace godwit::fake_verbs
