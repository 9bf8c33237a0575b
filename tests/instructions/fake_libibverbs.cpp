#include "fake_libibverbs.hpp"

#include "fake_verbs/fabric.hpp"

#include <cstdlib>
#include <iostream>

namespace {

using godwit::fake_verbs::Fabric;
using godwit::fake_verbs::Process;

// Never destroyed: threads of libgodwit may end after main().
Process* process = nullptr;
ibv_context_ops data_path;  // of the fake

}  // namespace

void godwit::instructions::start_fake_libibverbs() {
  auto* const fabric = new Fabric;
  fabric->add_host("node0", {fake_verbs::infiniband_device("mlx5_0", 1)});
  process = &fabric->add_process("node0");
}

#undef ibv_query_port
#undef ibv_reg_mr

extern "C" {

// --- below libibverbs: not counted
// ------------------------------------------------------------------------------------

[[gnu::noinline]] int below_post_send(ibv_qp* pair, ibv_send_wr* request, ibv_send_wr** bad) {
  return data_path.post_send(pair, request, bad);
}
[[gnu::noinline]] int below_post_srq_recv(ibv_srq* queue, ibv_recv_wr* request, ibv_recv_wr** bad) {
  return data_path.post_srq_recv(queue, request, bad);
}
[[gnu::noinline]] int below_poll_cq(ibv_cq* queue, int most, ibv_wc* completions) {
  return data_path.poll_cq(queue, most, completions);
}
[[gnu::noinline]] int below_req_notify_cq(ibv_cq* queue, int solicited_only) {
  return data_path.req_notify_cq(queue, solicited_only);
}

// --- libibverbs
// -------------------------------------------------------------------------------------------------------

ibv_device** ibv_get_device_list(int* count) { return process->get_device_list(count); }
void ibv_free_device_list(ibv_device** list) { process->free_device_list(list); }
const char* ibv_get_device_name(ibv_device* device) { return process->get_device_name(device); }

ibv_context* ibv_open_device(ibv_device* device) {
  ibv_context* const context = process->open_device(device);
  if (context == nullptr) return nullptr;
  data_path = context->ops;
  context->ops.post_send = below_post_send;
  context->ops.post_srq_recv = below_post_srq_recv;
  context->ops.poll_cq = below_poll_cq;
  context->ops.req_notify_cq = below_req_notify_cq;
  return context;
}

int ibv_close_device(ibv_context* context) { return process->close_device(context); }
int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
  return process->query_device(context, attributes);
}
// The caller's structure is a whole ibv_port_attr: see ___ibv_query_port().
int ibv_query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* attributes) {
  return process->query_port(context, port, reinterpret_cast<ibv_port_attr*>(attributes));
}
ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t most, std::uint32_t /*flags*/,
                             std::size_t /*entry_size*/) {
  return process->query_gid_table(context, entries, most);
}
int ibv_query_pkey(ibv_context* context, std::uint8_t port, int index, __be16* key) {
  return process->query_pkey(context, port, index, key);
}
ibv_pd* ibv_alloc_pd(ibv_context* context) { return process->alloc_pd(context); }
int ibv_dealloc_pd(ibv_pd* domain) { return process->dealloc_pd(domain); }
ibv_mr* ibv_reg_mr_iova2(ibv_pd* domain, void* address, std::size_t bytes, std::uint64_t /*iova*/, unsigned access) {
  return process->reg_mr(domain, address, bytes, static_cast<int>(access));
}
int ibv_dereg_mr(ibv_mr* region) { return process->dereg_mr(region); }
int ibv_fork_init() { return process->fork_init(); }
ibv_fork_status ibv_is_fork_initialized() { return IBV_FORK_UNNEEDED; }
ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) { return process->create_comp_channel(context); }
int ibv_destroy_comp_channel(ibv_comp_channel* channel) { return process->destroy_comp_channel(channel); }
ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* cq_context, ibv_comp_channel* channel, int /*vector*/) {
  return process->create_cq(context, entries, cq_context, channel);
}
int ibv_destroy_cq(ibv_cq* queue) { return process->destroy_cq(queue); }
int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void** cq_context) {
  return process->get_cq_event(channel, queue, cq_context);
}
void ibv_ack_cq_events(ibv_cq* queue, unsigned count) { process->ack_cq_events(queue, count); }
ibv_srq* ibv_create_srq(ibv_pd* domain, ibv_srq_init_attr* attributes) {
  return process->create_srq(domain, attributes);
}
int ibv_destroy_srq(ibv_srq* queue) { return process->destroy_srq(queue); }
ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* attributes) { return process->create_qp(domain, attributes); }
int ibv_modify_qp(ibv_qp* pair, ibv_qp_attr* attributes, int mask) {
  return process->modify_qp(pair, attributes, mask);
}
int ibv_destroy_qp(ibv_qp* pair) { return process->destroy_qp(pair); }
int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  return process->get_async_event(context, event);
}
void ibv_ack_async_event(ibv_async_event* event) { process->ack_async_event(event); }

}  // extern "C"
