#include "verbs/queue_pair.hpp"

#include "verbs/adapter.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include <arpa/inet.h>

namespace godwit::verbs {
namespace {

constexpr std::uint8_t hop_limit = 64;
constexpr std::uint8_t retry_without_buffer = 7;  // for ever: credits make it rare
constexpr std::uint8_t wait_without_buffer = 12;  // 0.64 ms

std::uint32_t random_packet_number() {
  static thread_local std::mt19937 generator{std::random_device{}()};
  return generator() & 0xffffffU;
}

ibv_mtu mtu_code(std::uint32_t bytes) noexcept {
  if (bytes >= 4096) return IBV_MTU_4096;
  if (bytes >= 2048) return IBV_MTU_2048;
  if (bytes >= 1024) return IBV_MTU_1024;
  return bytes >= 512 ? IBV_MTU_512 : IBV_MTU_256;
}

}  // namespace

QueuePair::QueuePair(Adapter& adapter) : adapter_(&adapter) {
  create();
  initialise();
  address_ = adapter.end();
  address_.number = pair_->qp_num;
  address_.first_packet = random_packet_number();
}

// Adapters refuse more inline data than they have, but do not say how much that is.
void QueuePair::create() {
  const AdapterSettings& settings = adapter_->settings();
  ibv_qp_init_attr wish{};
  wish.send_cq = wish.recv_cq = adapter_->completion_queue();
  wish.srq = adapter_->receive_queue();
  wish.qp_type = IBV_QPT_RC;
  wish.cap.max_send_wr = settings.send_depth;
  wish.cap.max_send_sge = 2;
  for (std::uint32_t inline_bytes = adapter_->inline_bytes();; inline_bytes /= 2) {
    ibv_qp_init_attr attributes = wish;
    attributes.cap.max_inline_data = inline_bytes;
    pair_ = {adapter_->api(), adapter_->api().create_qp(adapter_->domain(), &attributes)};
    if (pair_) {
      // What was asked for: more is not counted on.
      inline_bytes_ = inline_bytes;
      send_depth_ = settings.send_depth;
      return;
    }
    if (inline_bytes == 0)
      throw Error(errno == ENOMEM ? ErrorCode::no_memory : ErrorCode::transport,
                  fmt::format("{}: no queue pair with {} send requests: {}; GODWIT_IB_SEND_QUEUE makes it smaller, "
                              "`ulimit -l` may be too low",
                              adapter_->name(), settings.send_depth, std::strerror(errno)));
  }
}

void QueuePair::modify(ibv_qp_attr& attributes, int mask, const char* to) {
  const int error = adapter_->api().modify_qp(pair_.get(), &attributes, mask);
  if (error == 0) return;
  throw Error(ErrorCode::transport,
              fmt::format("{}: the queue pair does not go to {}: {} (here: {}; there: {}; MTU {}). Check that both "
                          "ends have the same link layer, GID type and a route to each other: `godwit ibstat`",
                          adapter_->about(), to, std::strerror(error), to_text(address_), to_text(peer_), mtu_));
}

void QueuePair::initialise() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.pkey_index = adapter_->settings().pkey_index;
  attributes.port_num = adapter_->port();
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
  if (adapter_->atomics()) attributes.qp_access_flags |= IBV_ACCESS_REMOTE_ATOMIC;
  modify(attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "INIT");
}

void QueuePair::expect(const PairAddress& peer) noexcept {
  peer_ = peer;
  mtu_ = std::min(address_.mtu, peer.mtu);
}

void QueuePair::connect(CmApi& cm, rdma_cm_id& id) {
  const auto attributes_for = [&](ibv_qp_state state, const char* name, int& mask) {
    ibv_qp_attr attributes{};
    attributes.qp_state = state;
    if (cm.init_qp_attr(&id, &attributes, &mask) != 0)
      throw Error(ErrorCode::transport, fmt::format("{}: rdma_cm does not say how the queue pair goes to {}: {}",
                                                    adapter_->about(), name, std::strerror(errno)));
    return attributes;
  };
  // Route and packet numbers are rdma_cm's; the rest is as without it.
  const AdapterSettings& settings = adapter_->settings();
  int mask = 0;
  ibv_qp_attr receive = attributes_for(IBV_QPS_RTR, "RTR", mask);
  receive.path_mtu = mtu_code(mtu_);
  receive.max_dest_rd_atomic = address_.max_reads;
  receive.min_rnr_timer = wait_without_buffer;
  if (receive.ah_attr.is_global != 0 && settings.traffic_class != 0)
    receive.ah_attr.grh.traffic_class = settings.traffic_class;
  modify(receive, mask, "RTR");
  ibv_qp_attr send = attributes_for(IBV_QPS_RTS, "RTS", mask);
  send.timeout = settings.timeout;
  send.retry_cnt = settings.retry_count;
  send.rnr_retry = retry_without_buffer;
  send.max_rd_atomic = std::min(peer_.max_reads, address_.max_reads);
  modify(send, mask, "RTS");
}

void QueuePair::connect(const PairAddress& peer) {
  expect(peer);
  const AdapterSettings& settings = adapter_->settings();
  ibv_qp_attr receive{};
  receive.qp_state = IBV_QPS_RTR;
  receive.path_mtu = mtu_code(mtu_);
  receive.dest_qp_num = peer.number;
  receive.rq_psn = peer.first_packet;
  receive.max_dest_rd_atomic = address_.max_reads;
  receive.min_rnr_timer = wait_without_buffer;
  receive.ah_attr.dlid = peer.lid;
  receive.ah_attr.sl = settings.service_level;
  receive.ah_attr.port_num = adapter_->port();
  if (adapter_->global_route()) {
    receive.ah_attr.is_global = 1;
    std::memcpy(receive.ah_attr.grh.dgid.raw, peer.gid.data(), peer.gid.size());
    receive.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(adapter_->gid_index());
    receive.ah_attr.grh.hop_limit = hop_limit;
    receive.ah_attr.grh.traffic_class = settings.traffic_class;
  }
  modify(receive,
         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
             IBV_QP_MIN_RNR_TIMER,
         "RTR");
  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  send.timeout = settings.timeout;
  send.retry_cnt = settings.retry_count;
  send.rnr_retry = retry_without_buffer;
  send.sq_psn = address_.first_packet;
  send.max_rd_atomic = std::min(peer.max_reads, address_.max_reads);
  modify(send,
         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
         "RTS");
}

void QueuePair::fail() noexcept {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  // It may be there already.
  [[maybe_unused]] const int error = pair_ ? adapter_->api().modify_qp(pair_.get(), &attributes, IBV_QP_STATE) : 0;
}

std::string to_text(const Gid& gid) {
  char text[INET6_ADDRSTRLEN] = {};
  constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::equal(mapped.begin(), mapped.end(), gid.begin()))
    ::inet_ntop(AF_INET, gid.data() + mapped.size(), text, sizeof text);
  else
    ::inet_ntop(AF_INET6, gid.data(), text, sizeof text);
  return text;
}

std::string to_text(const PairAddress& address) {
  if (address.link == LinkLayer::infiniband) return fmt::format("QP {}, LID {}", address.number, address.lid);
  return fmt::format("QP {}, GID {}", address.number, to_text(address.gid));
}

}  // namespace godwit::verbs
