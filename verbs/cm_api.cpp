#include "verbs/cm_api.hpp"

#include <arpa/inet.h>

namespace godwit::verbs {
namespace {

class SystemCmApi final : public CmApi {
 public:
  rdma_event_channel* create_event_channel() noexcept override { return rdma_create_event_channel(); }
  void destroy_event_channel(rdma_event_channel* channel) noexcept override { rdma_destroy_event_channel(channel); }
  int create_id(rdma_event_channel* channel, rdma_cm_id** id) noexcept override {
    return rdma_create_id(channel, id, nullptr, RDMA_PS_TCP);
  }
  int destroy_id(rdma_cm_id* id) noexcept override { return rdma_destroy_id(id); }
  int bind_addr(rdma_cm_id* id, sockaddr* address) noexcept override { return rdma_bind_addr(id, address); }
  int listen(rdma_cm_id* id, int backlog) noexcept override { return rdma_listen(id, backlog); }
  int resolve_addr(rdma_cm_id* id, sockaddr* from, sockaddr* to, int timeout_ms) noexcept override {
    return rdma_resolve_addr(id, from, to, timeout_ms);
  }
  int resolve_route(rdma_cm_id* id, int timeout_ms) noexcept override { return rdma_resolve_route(id, timeout_ms); }
  int connect(rdma_cm_id* id, rdma_conn_param* parameters) noexcept override { return rdma_connect(id, parameters); }
  int accept(rdma_cm_id* id, rdma_conn_param* parameters) noexcept override { return rdma_accept(id, parameters); }
  int establish(rdma_cm_id* id) noexcept override { return rdma_establish(id); }
  int reject(rdma_cm_id* id) noexcept override { return rdma_reject(id, nullptr, 0); }
  int get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) noexcept override {
    return rdma_get_cm_event(channel, event);
  }
  int ack_cm_event(rdma_cm_event* event) noexcept override { return rdma_ack_cm_event(event); }
  int init_qp_attr(rdma_cm_id* id, ibv_qp_attr* attributes, int* mask) noexcept override {
    return rdma_init_qp_attr(id, attributes, mask);
  }
  std::uint16_t source_port(rdma_cm_id* id) noexcept override { return ntohs(rdma_get_src_port(id)); }
  std::string port_of(rdma_cm_id* id) noexcept override {
    try {
      if (id->verbs == nullptr) return {};
      return std::string(ibv_get_device_name(id->verbs->device)) + ":" + std::to_string(id->port_num);
    } catch (...) {
      return {};
    }
  }
};

}  // namespace

CmApi& system_cm_api() noexcept {
  static SystemCmApi api;
  return api;
}

}  // namespace godwit::verbs
