#include "verbs/explain.hpp"

#include <fmt/format.h>

#include <string_view>

namespace godwit::verbs {
namespace {

std::string_view causes(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
      return "its packets were not acknowledged. Likely: the peer has ended or its port is down; the GIDs or MTUs do "
             "not "
             "reach each other (`godwit ibstat` on both hosts, ping between the GIDs' addresses); lossy RoCE network "
             "(PFC, ECN); GODWIT_IB_TIMEOUT or _RETRY_CNT too small";
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return "the peer had no receive buffer although it had granted one: a defect of Godwit, please report";
    case IBV_WC_REM_ACCESS_ERR:
      return "the peer's adapter refused the remote address or key. Likely: the window or region was freed there, or "
             "the "
             "offset is out of its bounds";
    case IBV_WC_REM_INV_REQ_ERR:
      return "the peer's adapter refused the request. Likely: a message longer than its receive buffer, or an "
             "operation "
             "that it does not support";
    case IBV_WC_REM_OP_ERR:
      return "the peer's adapter could not carry the request out. Likely: trouble of its memory or firmware (`dmesg` "
             "there)";
    case IBV_WC_LOC_PROT_ERR:
      return "local memory is not registered for it. Likely: memory was unmapped during a transfer";
    case IBV_WC_LOC_LEN_ERR: return "a message came that is longer than the receive buffer";
    case IBV_WC_LOC_QP_OP_ERR:
      return "the local queue pair could not work. Likely: the local port or its network device is down (`godwit "
             "ibstat`, `ip link`)";
    case IBV_WC_LOC_ACCESS_ERR: return "the local memory does not allow it";
    case IBV_WC_WR_FLUSH_ERR:
      return "the queue pair went into error before this request's turn, and not by a request of ours. Likely: the "
             "adapter here refused what the peer sent or asked for (a freed window, a wrong key: the peer's error and "
             "`dmesg` on both hosts say more); the peer has ended or given the connection up (its log: "
             "GODWIT_DEBUG=info there); the port or the adapter here failed (`godwit ibstat`). "
             "GODWIT_IB_RECOVERY_TIME above 0 lets Godwit rebuild what may pass";
    case IBV_WC_FATAL_ERR: return "the adapter has failed (`dmesg`, `godwit ibstat`)";
    case IBV_WC_RESP_TIMEOUT_ERR: return "the peer's answer did not come in time";
    default: return "see ibv_poll_cq(3)";
  }
}

}  // namespace

bool may_pass(ibv_wc_status status) noexcept {
  return status == IBV_WC_RETRY_EXC_ERR || status == IBV_WC_WR_FLUSH_ERR || status == IBV_WC_LOC_QP_OP_ERR ||
         status == IBV_WC_RESP_TIMEOUT_ERR;
}

std::string explain(const Link& link, const ibv_wc& entry) {
  std::string ends;
  if (link.connection) {
    const QueuePair& pair = link.connection->pair;
    ends = fmt::format(" (here {}, QP {}; there {}, QP {})", link.connection->adapter().about(), pair.address().number,
                       link.connection->peer_port(), pair.peer().number);
  }
  return fmt::format("RDMA with {}{} failed: {} (status {}, vendor code 0x{:x}): {}", link.peer.text(), ends,
                     ibv_wc_status_str(entry.status), static_cast<int>(entry.status), entry.vendor_err,
                     causes(entry.status));
}

}  // namespace godwit::verbs
