// One process that uses RDMA: an implementation of verbs::Api, with its faults and its counters.
//
//   process.fail(Call::create_qp, 3, ENOMEM);                                the third call from now on
//   process.fail_request(IBV_WR_RDMA_WRITE, 1, IBV_WC_REM_ACCESS_ERR);       the next write
//
// Made by Fabric::add_process(). Threads: any, one lock per fabric. Methods at the end are the test's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "verbs/api.hpp"

namespace godwit::fake_verbs {

struct World;
struct ProcessState;

/// What may fail; of post_send, post_recv and post_srq_recv each work request counts.
enum class Call : std::uint8_t {
  get_device_list,
  open_device,
  close_device,
  query_device,
  query_port,
  query_gid_table,
  query_pkey,
  alloc_pd,
  dealloc_pd,
  reg_mr,
  reg_dmabuf_mr,
  dereg_mr,
  fork_init,
  create_comp_channel,
  destroy_comp_channel,
  create_cq,
  destroy_cq,
  get_cq_event,
  create_srq,
  destroy_srq,
  create_qp,
  modify_qp,
  query_qp,
  destroy_qp,
  get_async_event,
  post_send,
  post_recv,
  post_srq_recv,
  poll_cq,
  req_notify_cq,
};
constexpr std::size_t number_of_calls = static_cast<std::size_t>(Call::req_notify_cq) + 1;

/// What a peer costs and what the adapter was asked to do.
struct Counters {
  std::array<std::uint64_t, number_of_calls> calls{};
  std::uint64_t doorbells = 0;    // calls of ibv_post_send
  std::uint64_t completions = 0;  // written to completion queues
  std::uint64_t not_ready = 0;    // requests of ours that found no receive posted at the peer; normal running: 0
  std::uint64_t events = 0;       // of completion channels
  std::size_t contexts = 0, domains = 0, regions = 0, channels = 0, completion_queues = 0, receive_queues = 0,
              queue_pairs = 0;  // alive
  std::size_t registered_bytes = 0;
  std::size_t completion_entries = 0;  // slots of all completion queues
  std::size_t send_slots = 0;          // of all queue pairs
  std::size_t receive_slots = 0;       // of all queue pairs and shared receive queues

  std::uint64_t of(Call call) const { return calls[static_cast<std::size_t>(call)]; }
};

enum class Executed : std::uint8_t { no, yes };

class Process final : public verbs::Api {
 public:
  explicit Process(std::unique_ptr<ProcessState> state);
  ~Process() override;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  ibv_device** get_device_list(int* count) noexcept override;
  void free_device_list(ibv_device** list) noexcept override;
  const char* get_device_name(ibv_device* device) noexcept override;
  ibv_context* open_device(ibv_device* device) noexcept override;
  int close_device(ibv_context* context) noexcept override;
  int query_device(ibv_context* context, ibv_device_attr* attributes) noexcept override;
  int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes) noexcept override;
  ssize_t query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t most) noexcept override;
  int query_pkey(ibv_context* context, std::uint8_t port, int index, std::uint16_t* key) noexcept override;
  std::string read_attribute(ibv_device* device, const char* path) noexcept override;
  std::vector<verbs::NetInterface> net_interfaces() noexcept override;

  ibv_pd* alloc_pd(ibv_context* context) noexcept override;
  int dealloc_pd(ibv_pd* domain) noexcept override;
  ibv_mr* reg_mr(ibv_pd* domain, void* address, std::size_t bytes, int access) noexcept override;
  ibv_mr* reg_dmabuf_mr(ibv_pd* domain, std::uint64_t offset, std::size_t bytes, std::uint64_t iova, int fd,
                        int access) noexcept override;
  int dereg_mr(ibv_mr* region) noexcept override;
  int fork_init() noexcept override;
  ibv_fork_status is_fork_initialized() noexcept override;

  ibv_comp_channel* create_comp_channel(ibv_context* context) noexcept override;
  int destroy_comp_channel(ibv_comp_channel* channel) noexcept override;
  ibv_cq* create_cq(ibv_context* context, int entries, void* cq_context, ibv_comp_channel* channel) noexcept override;
  int destroy_cq(ibv_cq* queue) noexcept override;
  int get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void** cq_context) noexcept override;
  void ack_cq_events(ibv_cq* queue, unsigned count) noexcept override;

  ibv_srq* create_srq(ibv_pd* domain, ibv_srq_init_attr* attributes) noexcept override;
  int destroy_srq(ibv_srq* queue) noexcept override;

  ibv_qp* create_qp(ibv_pd* domain, ibv_qp_init_attr* attributes) noexcept override;
  int modify_qp(ibv_qp* pair, ibv_qp_attr* attributes, int mask) noexcept override;
  int query_qp(ibv_qp* pair, ibv_qp_attr* attributes, int mask, ibv_qp_init_attr* initial) noexcept override;
  int destroy_qp(ibv_qp* pair) noexcept override;

  int get_async_event(ibv_context* context, ibv_async_event* event) noexcept override;
  void ack_async_event(ibv_async_event* event) noexcept override;

  /// Call number `nth` (1: the next) and the `times`-1 after it fail with `error`, an errno value.
  void fail(Call call, unsigned nth, int error, unsigned times = 1);
  /// The nth request (1: the next) with this opcode completes with `status`; Executed::yes: the peer has it all the
  /// same.
  void fail_request(ibv_wr_opcode opcode, unsigned nth, ibv_wc_status status, Executed executed = Executed::no);
  /// The nth receive (1: the next) that a message takes completes with `status`; its sender fails, too.
  void fail_receive(unsigned nth, ibv_wc_status status);
  /// The nth completion (1: the next) never appears.
  void lose_completion(unsigned nth);
  /// While held, new completions are not seen by ibv_poll_cq and raise no event; false: now they are, in order.
  void hold_completions(bool held);
  /// reg_mr fails with ENOMEM where the sum would be larger (RLIMIT_MEMLOCK), bytes.
  void limit_registered(std::size_t bytes);

  /// As on kernels before 5.12, where a child's write takes pages away from the adapter.
  void require_fork_init();

  Counters counters() const;
  /// What is still alive: "queue pair 0x12 in RTS", "region of 4096 bytes".
  std::vector<std::string> leaks() const;
  ProcessState& state() const noexcept { return *state_; }

 private:
  std::unique_ptr<ProcessState> state_;
};

}  // namespace godwit::fake_verbs
