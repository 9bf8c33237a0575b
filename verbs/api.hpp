// The functions of libibverbs that Godwit calls, as one interface, so that a fake can stand in.
//
// They are named and behave as in libibverbs (errors: nullptr or an errno value, see ibv_*(3)). The functions of the
// data path are not here: ibv_post_send, ibv_post_recv, ibv_post_srq_recv, ibv_poll_cq and ibv_req_notify_cq go through
// ibv_context::ops, which a fake fills in. Threads: any.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "verbs/facts.hpp"

namespace godwit::verbs {

class Api {
 public:
  virtual ~Api() = default;

  virtual ibv_device** get_device_list(int* count) noexcept = 0;
  virtual void free_device_list(ibv_device** list) noexcept = 0;
  virtual const char* get_device_name(ibv_device* device) noexcept = 0;
  virtual ibv_context* open_device(ibv_device* device) noexcept = 0;
  virtual int close_device(ibv_context* context) noexcept = 0;
  virtual int query_device(ibv_context* context, ibv_device_attr* attributes) noexcept = 0;
  virtual int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes) noexcept = 0;
  /// All valid entries of all ports: their number, or a negative errno value.
  virtual ssize_t query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t most) noexcept = 0;
  virtual int query_pkey(ibv_context* context, std::uint8_t port, int index, std::uint16_t* key) noexcept = 0;
  /// What sysfs has under the device, "node_guid" or "ports/1/phys_state"; empty: nothing. Never throws.
  virtual std::string read_attribute(ibv_device* device, const char* path) noexcept = 0;
  /// The network interfaces of this host (of this name space); empty: unknown. Never throws.
  virtual std::vector<NetInterface> net_interfaces() noexcept { return {}; }

  virtual ibv_pd* alloc_pd(ibv_context* context) noexcept = 0;
  virtual int dealloc_pd(ibv_pd* domain) noexcept = 0;
  virtual ibv_mr* reg_mr(ibv_pd* domain, void* address, std::size_t bytes, int access) noexcept = 0;
  virtual ibv_mr* reg_dmabuf_mr(ibv_pd* domain, std::uint64_t offset, std::size_t bytes, std::uint64_t iova, int fd,
                                int access) noexcept = 0;
  virtual int dereg_mr(ibv_mr* region) noexcept = 0;
  virtual int fork_init() noexcept = 0;
  /// Not pure: a fake that has nothing to say of it needs no line.
  virtual ibv_fork_status is_fork_initialized() noexcept { return IBV_FORK_UNNEEDED; }

  virtual ibv_comp_channel* create_comp_channel(ibv_context* context) noexcept = 0;
  virtual int destroy_comp_channel(ibv_comp_channel* channel) noexcept = 0;
  virtual ibv_cq* create_cq(ibv_context* context, int entries, void* cq_context,
                            ibv_comp_channel* channel) noexcept = 0;
  virtual int destroy_cq(ibv_cq* queue) noexcept = 0;
  virtual int get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void** cq_context) noexcept = 0;
  virtual void ack_cq_events(ibv_cq* queue, unsigned count) noexcept = 0;

  virtual ibv_srq* create_srq(ibv_pd* domain, ibv_srq_init_attr* attributes) noexcept = 0;
  virtual int destroy_srq(ibv_srq* queue) noexcept = 0;

  virtual ibv_qp* create_qp(ibv_pd* domain, ibv_qp_init_attr* attributes) noexcept = 0;
  virtual int modify_qp(ibv_qp* pair, ibv_qp_attr* attributes, int mask) noexcept = 0;
  virtual int query_qp(ibv_qp* pair, ibv_qp_attr* attributes, int mask, ibv_qp_init_attr* initial) noexcept = 0;
  virtual int destroy_qp(ibv_qp* pair) noexcept = 0;

  /// The descriptor is ibv_context::async_fd.
  virtual int get_async_event(ibv_context* context, ibv_async_event* event) noexcept = 0;
  virtual void ack_async_event(ibv_async_event* event) noexcept = 0;
};

/// libibverbs itself.
Api& system_api() noexcept;

}  // namespace godwit::verbs
