// States of queue pairs: which attributes each transition needs and takes, and which values a device accepts.
#include <array>
#include <cerrno>

#include "fake_verbs/world.hpp"

namespace godwit::fake_verbs {
namespace {

struct Transition {
  ibv_qp_state from, to;
  int needed, optional;
};

constexpr std::array transitions{
    Transition{IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0},
    Transition{IBV_QPS_INIT, IBV_QPS_INIT, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
    Transition{IBV_QPS_INIT, IBV_QPS_RTR,
               IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                   IBV_QP_MIN_RNR_TIMER,
               IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
    Transition{IBV_QPS_RTR, IBV_QPS_RTS,
               IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
               IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER},
    Transition{IBV_QPS_RTS, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER},
};

bool allowed(ibv_qp_state from, ibv_qp_state to, int mask) {
  if (to == IBV_QPS_ERR || to == IBV_QPS_RESET) return mask == IBV_QP_STATE;
  for (const Transition& transition : transitions) {
    if (transition.from != from || transition.to != to) continue;
    const int needed = transition.needed | (from == to ? 0 : IBV_QP_STATE);
    return (mask & needed) == needed && (mask & ~(needed | transition.optional | IBV_QP_STATE)) == 0;
  }
  return false;
}

unsigned bytes_of(ibv_mtu mtu) { return 128U << static_cast<unsigned>(mtu); }

bool has_gid(const Port& port, unsigned index) {
  for (const verbs::GidEntry& entry : port.facts.gids) {
    if (entry.index == index) return true;
  }
  return false;
}

bool good_path(const QueuePair& pair, const ibv_ah_attr& path) {
  if (path.port_num != pair.port->facts.number || path.sl > 15) return false;
  if (path.is_global != 0) return has_gid(*pair.port, path.grh.sgid_index);
  return pair.port->facts.link == verbs::LinkLayer::infiniband && path.dlid != 0;
}

/// Values of the attributes in `mask`; the port is known when a path is given.
bool good_values(QueuePair& pair, const ibv_qp_attr& wanted, int mask) {
  const verbs::DeviceFacts& facts = pair.device->setup.facts;
  const Port* const port = (mask & IBV_QP_PORT) != 0 ? pair.device->port(wanted.port_num) : pair.port;
  if (port == nullptr) return false;
  if ((mask & IBV_QP_PKEY_INDEX) != 0 &&
      (wanted.pkey_index >= port->facts.pkeys.size() || port->facts.pkeys[wanted.pkey_index] == 0)) {
    return false;
  }
  if ((mask & IBV_QP_AV) != 0 && !good_path(pair, wanted.ah_attr)) return false;
  if ((mask & IBV_QP_PATH_MTU) != 0 && (wanted.path_mtu < IBV_MTU_256 || wanted.path_mtu > IBV_MTU_4096 ||
                                        bytes_of(wanted.path_mtu) > port->facts.max_mtu)) {
    return false;
  }
  if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0 && wanted.max_dest_rd_atomic > facts.max_reads) return false;
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0 && wanted.max_rd_atomic > facts.max_reads) return false;
  if ((mask & IBV_QP_MIN_RNR_TIMER) != 0 && wanted.min_rnr_timer > 31) return false;
  if ((mask & IBV_QP_TIMEOUT) != 0 && wanted.timeout > 31) return false;
  return (mask & IBV_QP_RETRY_CNT) == 0 || (wanted.retry_cnt <= 7 && wanted.rnr_retry <= 7);
}

void take(QueuePair& pair, const ibv_qp_attr& wanted, int mask) {
  ibv_qp_attr& own = pair.attributes;
  if ((mask & IBV_QP_PORT) != 0) {
    own.port_num = wanted.port_num;
    pair.port = pair.device->port(wanted.port_num);
  }
  if ((mask & IBV_QP_ACCESS_FLAGS) != 0) own.qp_access_flags = wanted.qp_access_flags;
  if ((mask & IBV_QP_PKEY_INDEX) != 0) own.pkey_index = wanted.pkey_index;
  if ((mask & IBV_QP_AV) != 0) own.ah_attr = wanted.ah_attr;
  if ((mask & IBV_QP_PATH_MTU) != 0) own.path_mtu = wanted.path_mtu;
  if ((mask & IBV_QP_DEST_QPN) != 0) own.dest_qp_num = wanted.dest_qp_num;
  if ((mask & IBV_QP_RQ_PSN) != 0) own.rq_psn = wanted.rq_psn;
  if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0) own.max_dest_rd_atomic = wanted.max_dest_rd_atomic;
  if ((mask & IBV_QP_MIN_RNR_TIMER) != 0) own.min_rnr_timer = wanted.min_rnr_timer;
  if ((mask & IBV_QP_TIMEOUT) != 0) own.timeout = wanted.timeout;
  if ((mask & IBV_QP_RETRY_CNT) != 0) own.retry_cnt = wanted.retry_cnt;
  if ((mask & IBV_QP_RNR_RETRY) != 0) own.rnr_retry = wanted.rnr_retry;
  if ((mask & IBV_QP_SQ_PSN) != 0) own.sq_psn = wanted.sq_psn;
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0) own.max_rd_atomic = wanted.max_rd_atomic;
}

}  // namespace

int modify(World& world, QueuePair& pair, const ibv_qp_attr& attributes, int mask) {
  const ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? attributes.qp_state : pair.condition;
  if (!allowed(pair.condition, to, mask)) return EINVAL;
  if ((mask & IBV_QP_CUR_STATE) != 0 && attributes.cur_qp_state != pair.condition) return EINVAL;
  if (to == IBV_QPS_ERR) {
    enter_error(world, pair);
  } else if (to == IBV_QPS_RESET) {
    enter_reset(pair);
  } else {
    // siw knows its states from rdma_cm alone.
    if (pair.device->is_iwarp() && to != IBV_QPS_INIT && (mask & ~IBV_QP_ACCESS_FLAGS) != 0) return EINVAL;
    if (!good_values(pair, attributes, mask)) return EINVAL;
    take(pair, attributes, mask);
    pair.condition = to;
    pair.used = pair.used || to == IBV_QPS_RTR;
  }
  ++world.epoch;
  world.kick();
  return 0;
}

}  // namespace godwit::fake_verbs
