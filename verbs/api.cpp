#include "verbs/api.hpp"

#include <fstream>
#include <iterator>

#include "verbs/net_interfaces.hpp"

namespace godwit::verbs {
namespace {

class SystemApi final : public Api {
 public:
  ibv_device** get_device_list(int* count) noexcept override { return ibv_get_device_list(count); }
  void free_device_list(ibv_device** list) noexcept override { ibv_free_device_list(list); }
  const char* get_device_name(ibv_device* device) noexcept override { return ibv_get_device_name(device); }
  ibv_context* open_device(ibv_device* device) noexcept override { return ibv_open_device(device); }
  int close_device(ibv_context* context) noexcept override { return ibv_close_device(context); }
  int query_device(ibv_context* context, ibv_device_attr* attributes) noexcept override {
    return ibv_query_device(context, attributes);
  }
  int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes) noexcept override {
    return ibv_query_port(context, port, attributes);
  }
  ssize_t query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t most) noexcept override {
    return ibv_query_gid_table(context, entries, most, 0);
  }
  int query_pkey(ibv_context* context, std::uint8_t port, int index, std::uint16_t* key) noexcept override {
    return ibv_query_pkey(context, port, index, key);
  }
  std::string read_attribute(ibv_device* device, const char* path) noexcept override {
    try {
      std::ifstream file(std::string(device->ibdev_path) + "/" + path);
      std::string text{std::istreambuf_iterator<char>(file), {}};
      while (!text.empty() && text.back() == '\n') text.pop_back();
      return text;
    } catch (...) {
      return {};
    }
  }
  std::vector<NetInterface> net_interfaces() noexcept override { return system_net_interfaces(); }

  ibv_pd* alloc_pd(ibv_context* context) noexcept override { return ibv_alloc_pd(context); }
  int dealloc_pd(ibv_pd* domain) noexcept override { return ibv_dealloc_pd(domain); }
  ibv_mr* reg_mr(ibv_pd* domain, void* address, std::size_t bytes, int access) noexcept override {
    return ibv_reg_mr_iova2(domain, address, bytes, reinterpret_cast<std::uintptr_t>(address),
                            static_cast<unsigned>(access));
  }
  ibv_mr* reg_dmabuf_mr(ibv_pd* domain, std::uint64_t offset, std::size_t bytes, std::uint64_t iova, int fd,
                        int access) noexcept override {
    return ibv_reg_dmabuf_mr(domain, offset, bytes, iova, fd, access);
  }
  int dereg_mr(ibv_mr* region) noexcept override { return ibv_dereg_mr(region); }
  int fork_init() noexcept override { return ibv_fork_init(); }
  ibv_fork_status is_fork_initialized() noexcept override { return ibv_is_fork_initialized(); }

  ibv_comp_channel* create_comp_channel(ibv_context* context) noexcept override {
    return ibv_create_comp_channel(context);
  }
  int destroy_comp_channel(ibv_comp_channel* channel) noexcept override { return ibv_destroy_comp_channel(channel); }
  ibv_cq* create_cq(ibv_context* context, int entries, void* cq_context, ibv_comp_channel* channel) noexcept override {
    return ibv_create_cq(context, entries, cq_context, channel, 0);
  }
  int destroy_cq(ibv_cq* queue) noexcept override { return ibv_destroy_cq(queue); }
  int get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void** cq_context) noexcept override {
    return ibv_get_cq_event(channel, queue, cq_context);
  }
  void ack_cq_events(ibv_cq* queue, unsigned count) noexcept override { ibv_ack_cq_events(queue, count); }

  ibv_srq* create_srq(ibv_pd* domain, ibv_srq_init_attr* attributes) noexcept override {
    return ibv_create_srq(domain, attributes);
  }
  int destroy_srq(ibv_srq* queue) noexcept override { return ibv_destroy_srq(queue); }

  ibv_qp* create_qp(ibv_pd* domain, ibv_qp_init_attr* attributes) noexcept override {
    return ibv_create_qp(domain, attributes);
  }
  int modify_qp(ibv_qp* pair, ibv_qp_attr* attributes, int mask) noexcept override {
    return ibv_modify_qp(pair, attributes, mask);
  }
  int query_qp(ibv_qp* pair, ibv_qp_attr* attributes, int mask, ibv_qp_init_attr* initial) noexcept override {
    return ibv_query_qp(pair, attributes, mask, initial);
  }
  int destroy_qp(ibv_qp* pair) noexcept override { return ibv_destroy_qp(pair); }

  int get_async_event(ibv_context* context, ibv_async_event* event) noexcept override {
    return ibv_get_async_event(context, event);
  }
  void ack_async_event(ibv_async_event* event) noexcept override { ibv_ack_async_event(event); }
};

}  // namespace

Api& system_api() noexcept {
  static SystemApi api;
  return api;
}

}  // namespace godwit::verbs
