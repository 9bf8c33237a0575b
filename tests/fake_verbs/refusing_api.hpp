// The base of doubles that stand in for one part of libibverbs: whatever they do not override is refused.
#pragma once

#include "verbs/api.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>

namespace godwit::verbs {

class RefusingApi : public Api {
 public:
  ibv_device** get_device_list(int*) noexcept override { return nullptr; }
  void free_device_list(ibv_device**) noexcept override {}
  const char* get_device_name(ibv_device*) noexcept override { return nullptr; }
  ibv_context* open_device(ibv_device*) noexcept override { return nullptr; }
  int close_device(ibv_context*) noexcept override { return ENOSYS; }
  int query_device(ibv_context*, ibv_device_attr*) noexcept override { return ENOSYS; }
  int query_port(ibv_context*, std::uint8_t, ibv_port_attr*) noexcept override { return ENOSYS; }
  ssize_t query_gid_table(ibv_context*, ibv_gid_entry*, std::size_t) noexcept override { return -ENOSYS; }
  int query_pkey(ibv_context*, std::uint8_t, int, std::uint16_t*) noexcept override { return ENOSYS; }
  std::string read_attribute(ibv_device*, const char*) noexcept override { return {}; }
  ibv_pd* alloc_pd(ibv_context*) noexcept override { return nullptr; }
  int dealloc_pd(ibv_pd*) noexcept override { return ENOSYS; }
  ibv_mr* reg_mr(ibv_pd*, void*, std::size_t, int) noexcept override { return nullptr; }
  ibv_mr* reg_dmabuf_mr(ibv_pd*, std::uint64_t, std::size_t, std::uint64_t, int, int) noexcept override {
    return nullptr;
  }
  int dereg_mr(ibv_mr*) noexcept override { return ENOSYS; }
  int fork_init() noexcept override { return ENOSYS; }
  ibv_comp_channel* create_comp_channel(ibv_context*) noexcept override { return nullptr; }
  int destroy_comp_channel(ibv_comp_channel*) noexcept override { return ENOSYS; }
  ibv_cq* create_cq(ibv_context*, int, void*, ibv_comp_channel*) noexcept override { return nullptr; }
  int destroy_cq(ibv_cq*) noexcept override { return ENOSYS; }
  int get_cq_event(ibv_comp_channel*, ibv_cq**, void**) noexcept override { return -1; }
  void ack_cq_events(ibv_cq*, unsigned) noexcept override {}
  ibv_srq* create_srq(ibv_pd*, ibv_srq_init_attr*) noexcept override { return nullptr; }
  int destroy_srq(ibv_srq*) noexcept override { return ENOSYS; }
  ibv_qp* create_qp(ibv_pd*, ibv_qp_init_attr*) noexcept override { return nullptr; }
  int modify_qp(ibv_qp*, ibv_qp_attr*, int) noexcept override { return ENOSYS; }
  int query_qp(ibv_qp*, ibv_qp_attr*, int, ibv_qp_init_attr*) noexcept override { return ENOSYS; }
  int destroy_qp(ibv_qp*) noexcept override { return ENOSYS; }
  int get_async_event(ibv_context*, ibv_async_event*) noexcept override { return -1; }
  void ack_async_event(ibv_async_event*) noexcept override {}
};

}  // namespace godwit::verbs
