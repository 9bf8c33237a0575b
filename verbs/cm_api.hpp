// The functions of librdmacm that Godwit calls, as one interface, so that a fake can stand in.
//
// They are named and behave as in librdmacm (errors: nullptr or -1, and errno; see rdma_*(3)). Threads: any.
#pragma once

#include <rdma/rdma_cma.h>

#include <cstdint>
#include <string>

namespace godwit::verbs {

class CmApi {
 public:
  virtual ~CmApi() = default;

  virtual rdma_event_channel* create_event_channel() noexcept = 0;
  virtual void destroy_event_channel(rdma_event_channel* channel) noexcept = 0;
  /// Of the port space RDMA_PS_TCP.
  virtual int create_id(rdma_event_channel* channel, rdma_cm_id** id) noexcept = 0;
  virtual int destroy_id(rdma_cm_id* id) noexcept = 0;
  virtual int bind_addr(rdma_cm_id* id, sockaddr* address) noexcept = 0;
  virtual int listen(rdma_cm_id* id, int backlog) noexcept = 0;
  virtual int resolve_addr(rdma_cm_id* id, sockaddr* from, sockaddr* to, int timeout_ms) noexcept = 0;
  virtual int resolve_route(rdma_cm_id* id, int timeout_ms) noexcept = 0;
  virtual int connect(rdma_cm_id* id, rdma_conn_param* parameters) noexcept = 0;
  virtual int accept(rdma_cm_id* id, rdma_conn_param* parameters) noexcept = 0;
  virtual int establish(rdma_cm_id* id) noexcept = 0;
  virtual int reject(rdma_cm_id* id) noexcept = 0;
  virtual int get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) noexcept = 0;
  virtual int ack_cm_event(rdma_cm_event* event) noexcept = 0;
  virtual int init_qp_attr(rdma_cm_id* id, ibv_qp_attr* attributes, int* mask) noexcept = 0;
  /// In host byte order.
  virtual std::uint16_t source_port(rdma_cm_id* id) noexcept = 0;
  /// "siw0:1": the port that a bound id belongs to; empty: none. Never throws.
  virtual std::string port_of(rdma_cm_id* id) noexcept = 0;
};

/// librdmacm itself.
CmApi& system_cm_api() noexcept;

}  // namespace godwit::verbs
