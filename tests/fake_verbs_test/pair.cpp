#include "pair.hpp"

#include <fcntl.h>

#include <cstring>

namespace godwit::fake_verbs {

End::End(Process& owner, const EndSettings& wished) : process(owner), settings(wished) {
  ibv_device** const list = process.get_device_list(nullptr);
  context = process.open_device(list[0]);
  process.free_device_list(list);
  fcntl(context->async_fd, F_SETFL, O_NONBLOCK);
  domain = process.alloc_pd(context);
  if (settings.channel) channel = process.create_comp_channel(context);
  queue = process.create_cq(context, static_cast<int>(settings.completions), this, channel);
  ibv_srq_init_attr wanted{};
  wanted.attr.max_wr = settings.receives;
  wanted.attr.max_sge = settings.pieces;
  if (settings.shared) shared = process.create_srq(domain, &wanted);
  ibv_qp_init_attr initial{};
  initial.send_cq = initial.recv_cq = queue;
  initial.srq = shared;
  initial.cap = {settings.send_requests, settings.receives, settings.pieces, settings.pieces, settings.inline_bytes};
  initial.qp_type = IBV_QPT_RC;
  pair = process.create_qp(domain, &initial);
  region = process.reg_mr(domain, memory, sizeof memory, all_access);
}

End::~End() {
  events();
  EXPECT_EQ(process.destroy_qp(pair), 0);
  if (shared != nullptr) {
    EXPECT_EQ(process.destroy_srq(shared), 0);
  }
  EXPECT_EQ(process.destroy_cq(queue), 0);
  if (channel != nullptr) {
    EXPECT_EQ(process.destroy_comp_channel(channel), 0);
  }
  EXPECT_EQ(process.dereg_mr(region), 0);
  EXPECT_EQ(process.dealloc_pd(domain), 0);
  EXPECT_EQ(process.close_device(context), 0);
}

int End::to_init() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = 1;
  attributes.qp_access_flags = all_access;
  return process.modify_qp(pair, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

int End::to_rtr(const End& peer) {
  ibv_port_attr port{};
  EXPECT_EQ(peer.process.query_port(peer.context, 1, &port), 0);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = settings.mtu;
  attributes.dest_qp_num = peer.number();
  attributes.rq_psn = peer.number() + 100;
  attributes.max_dest_rd_atomic = settings.reads;
  attributes.min_rnr_timer = 12;
  attributes.ah_attr.port_num = 1;
  attributes.ah_attr.dlid = port.lid;
  if (port.link_layer == IBV_LINK_LAYER_ETHERNET) {
    std::vector<ibv_gid_entry> table(4);
    const ssize_t count = peer.process.query_gid_table(peer.context, table.data(), table.size());
    EXPECT_GE(count, 1);
    attributes.ah_attr.is_global = 1;
    attributes.ah_attr.grh.dgid = table[static_cast<std::size_t>(count - 1)].gid;
    attributes.ah_attr.grh.sgid_index = 1;
    attributes.ah_attr.grh.hop_limit = 64;
  }
  return process.modify_qp(pair, &attributes,
                           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                               IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

int End::to_rts() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = number() + 100;
  attributes.timeout = settings.timeout;
  attributes.retry_cnt = settings.retry_count;
  attributes.rnr_retry = settings.rnr_retry;
  attributes.max_rd_atomic = settings.reads;
  return process.modify_qp(
      pair, &attributes,
      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

int End::to(ibv_qp_state wanted) {
  ibv_qp_attr attributes{};
  attributes.qp_state = wanted;
  return process.modify_qp(pair, &attributes, IBV_QP_STATE);
}

ibv_sge End::piece(std::size_t offset, std::uint32_t bytes) const { return {address(offset), bytes, region->lkey}; }

std::uint64_t End::address(std::size_t offset) const { return reinterpret_cast<std::uintptr_t>(memory + offset); }

int End::receive(std::uint64_t id, std::size_t offset, std::uint32_t bytes) const {
  ibv_sge entry = piece(offset, bytes);
  ibv_recv_wr request{};
  request.wr_id = id;
  request.sg_list = &entry;
  request.num_sge = bytes > 0 ? 1 : 0;
  ibv_recv_wr* bad = nullptr;
  return shared != nullptr ? ibv_post_srq_recv(shared, &request, &bad) : ibv_post_recv(pair, &request, &bad);
}

int End::send(std::uint64_t id, std::size_t offset, std::uint32_t bytes, unsigned flags) const {
  ibv_sge entry = piece(offset, bytes);
  ibv_send_wr request{};
  request.wr_id = id;
  request.sg_list = &entry;
  request.num_sge = bytes > 0 ? 1 : 0;
  request.opcode = IBV_WR_SEND;
  request.send_flags = flags;
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(pair, &request, &bad);
}

int End::post(ibv_wr_opcode opcode, std::uint64_t id, std::uint32_t bytes, const End& peer, std::size_t peer_offset,
              unsigned flags) const {
  ibv_sge entry = piece(0, bytes);
  ibv_send_wr request{};
  request.wr_id = id;
  request.sg_list = &entry;
  request.num_sge = bytes > 0 ? 1 : 0;
  request.opcode = opcode;
  request.send_flags = flags;
  request.imm_data = 0x01020304;
  request.wr.rdma = {peer.address(peer_offset), peer.region->rkey};
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(pair, &request, &bad);
}

int End::atomic(ibv_wr_opcode opcode, std::uint64_t id, const End& peer, std::uint64_t operand, std::uint64_t swap,
                std::size_t peer_offset) const {
  ibv_sge entry = piece(0, 8);
  ibv_send_wr request{};
  request.wr_id = id;
  request.sg_list = &entry;
  request.num_sge = 1;
  request.opcode = opcode;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.atomic = {peer.address(peer_offset), operand, swap, peer.region->rkey};
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(pair, &request, &bad);
}

std::vector<ibv_wc> End::poll(int most) const {
  std::vector<ibv_wc> completions(static_cast<std::size_t>(most));
  const int count = ibv_poll_cq(queue, most, completions.data());
  EXPECT_GE(count, 0);
  completions.resize(static_cast<std::size_t>(std::max(count, 0)));
  return completions;
}

ibv_wc_status End::only() {
  const auto completions = poll();
  EXPECT_EQ(completions.size(), 1U);
  return completions.size() == 1 ? completions[0].status : IBV_WC_GENERAL_ERR;
}

std::vector<ibv_async_event> End::events() {
  std::vector<ibv_async_event> got;
  ibv_async_event event{};
  while (process.get_async_event(context, &event) == 0) {
    got.push_back(event);
    process.ack_async_event(&event);
  }
  EXPECT_EQ(errno, EAGAIN);
  return got;
}

void End::write(std::size_t offset, const std::string& text) { std::memcpy(memory + offset, text.data(), text.size()); }

std::string End::read(std::size_t offset, std::size_t bytes) const {
  return {reinterpret_cast<const char*>(memory) + offset, bytes};
}

ibv_qp_state End::state() const {
  ibv_qp_attr attributes{};
  ibv_qp_init_attr initial{};
  EXPECT_EQ(process.query_qp(pair, &attributes, IBV_QP_STATE, &initial), 0);
  return attributes.qp_state;
}

std::vector<DeviceSetup> Connected::devices(const std::string& host) const {
  const std::string address = host == "node0" ? "10.0.0.1" : "10.0.0.2";
  if (iwarp) return {iwarp_device("dev0", address)};
  if (roce) return {roce_device("dev0", address)};
  return {infiniband_device("dev0", host == "node0" ? 1 : 2)};
}

void Connected::SetUp() { make({}); }

void Connected::make(const EndSettings& settings, bool connected) {
  a.reset();
  b.reset();
  if (!hosts_made) {
    fabric.add_host("node0", devices("node0"));
    fabric.add_host("node1", devices("node1"));
    hosts_made = true;
  }
  a = std::make_unique<End>(fabric.add_process("node0"), settings);
  b = std::make_unique<End>(fabric.add_process("node1"), settings);
  if (!connected) return;
  if (iwarp) {
    fabric.connect_iwarp(a->pair, b->pair);
    return;
  }
  ASSERT_EQ(a->to_init(), 0);
  ASSERT_EQ(b->to_init(), 0);
  ASSERT_EQ(a->to_rtr(*b), 0);
  ASSERT_EQ(b->to_rtr(*a), 0);
  ASSERT_EQ(a->to_rts(), 0);
  ASSERT_EQ(b->to_rts(), 0);
}

void Connected::TearDown() {
  a.reset();
  b.reset();
  EXPECT_EQ(fabric.leaks(), std::vector<std::string>{});
  if (!defects_expected) {
    EXPECT_EQ(fabric.defects(), std::vector<std::string>{});
  }
}

}  // namespace godwit::fake_verbs
