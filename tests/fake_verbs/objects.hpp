// The objects behind the pointers of libibverbs. Everything is guarded by World::mutex. Internal to the fake.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fake_verbs/event_queue.hpp"
#include "fake_verbs/fabric.hpp"

namespace godwit::fake_verbs {

struct Device;
struct Domain;
struct ProcessState;
struct QueuePair;
struct World;

constexpr unsigned most_pieces = 32;  // scatter/gather entries of a request

struct Port {
  Device* device = nullptr;
  verbs::PortFacts facts;
};

struct Device : ibv_device {
  World* world = nullptr;
  std::string host;
  DeviceSetup setup;
  std::vector<Port> ports;
  bool removed = false;
  unsigned queue_pairs = 0, regions = 0;

  bool is_iwarp() const { return setup.facts.protocol == verbs::Protocol::iwarp; }
  Port* port(unsigned number);
};

struct Context : ibv_context {
  Device* adapter = nullptr;
  ProcessState* process = nullptr;
  EventQueue<ibv_async_event> events;
  unsigned users = 0;  // domains, channels, completion queues
  bool closed = false;
};

struct Domain : ibv_pd {
  Domain() : ibv_pd{} {}
  Context* owner = nullptr;
  unsigned users = 0;  // regions, receive queues, queue pairs
};

struct Region : ibv_mr {
  Region() : ibv_mr{} {}
  Domain* owner = nullptr;
  std::byte* memory = nullptr;
  std::uint64_t iova = 0;
  int access = 0;
  void* mapping = nullptr;  // of a dmabuf
  std::size_t mapped = 0;
};

struct CompletionQueue;

struct Channel : ibv_comp_channel {
  Context* owner = nullptr;
  EventQueue<CompletionQueue*> events;
  unsigned users = 0;
};

/// A queue of receives: of one queue pair, or shared.
struct ReceiveQueue {
  struct Request {
    std::uint64_t wr_id = 0;
    unsigned pieces = 0;
  };

  ReceiveQueue(unsigned requests, unsigned pieces);
  /// 0, EINVAL, ENOMEM
  int post(const ibv_recv_wr& request);
  bool empty() const { return taken == posted; }
  Request& front(ibv_sge*& pieces);

  unsigned capacity, most;  // requests, entries of each
  std::vector<Request> requests;
  std::vector<ibv_sge> entries;
  std::uint64_t posted = 0, taken = 0, freed = 0;  // freed: the completion was polled
};

struct SharedReceiveQueue : ibv_srq {
  SharedReceiveQueue(Domain* domain, unsigned requests, unsigned pieces)
      : ibv_srq{}, owner(domain), queue(requests, pieces) {}
  Domain* owner;
  ReceiveQueue queue;
  unsigned users = 0;
};

struct CompletionQueue : ibv_cq {
  struct Entry {
    ibv_wc completion;
    QueuePair* pair;
    ReceiveQueue* receive;   // one slot of it is freed by polling
    std::uint64_t send_end;  // slots of the send queue before it are
    bool solicited;
  };

  CompletionQueue(Context* context, unsigned capacity);
  void add(const Entry& entry);
  int take(int most, ibv_wc* completions);
  /// Removes what a queue pair left, whose end it is.
  void forget(const QueuePair& pair);
  void fail();

  Context* owner;
  std::vector<Entry> entries;  // a ring
  std::uint64_t written = 0, read = 0;
  enum class Armed : std::uint8_t { no, solicited, all } armed = Armed::no;
  bool failed = false;
  unsigned users = 0;
  unsigned unacknowledged = 0;  // events got, not acknowledged

 private:
  void append(const Entry& entry);
  friend struct ProcessState;
};

struct SendRequest {
  std::uint64_t wr_id = 0, remote = 0, compare_add = 0, swap = 0;
  std::uint32_t rkey = 0, immediate = 0, bytes = 0;
  ibv_wr_opcode opcode = IBV_WR_SEND;
  ibv_wc_status status = IBV_WC_SUCCESS;  // as soon as it was delivered
  ibv_wc_status forced = IBV_WC_SUCCESS;  // by the test
  std::uint8_t pieces = 0;
  bool inlined = false, signalled = false, fenced = false, solicited = false;
  bool forced_executed = false, not_ready = false;
  bool kept = false;               // payload has what is sent, or what was read
  std::vector<std::byte> payload;  // see kept
  std::uint64_t order = 0;         // when it was posted, then when it was delivered
};

struct QueuePair : ibv_qp {
  QueuePair(Domain* domain, const ibv_qp_init_attr& wanted);

  SendRequest& request(std::uint64_t number) { return requests[number % requests.size()]; }
  ibv_sge* pieces_of(std::uint64_t number) {
    return entries.data() + number % requests.size() * most_pieces_per_request;
  }
  std::byte* inline_of(std::uint64_t number) { return inlined.data() + number % requests.size() * most_inline; }
  ReceiveQueue& receives() { return shared ? shared->queue : own_receives; }

  Domain* owner;
  Context* home;
  Device* device;
  CompletionQueue *sends, *receptions;
  SharedReceiveQueue* shared;
  bool all_signalled;
  unsigned most_pieces_per_request;
  std::size_t most_inline;
  ReceiveQueue own_receives;

  // The send queue: done <= sent <= posted, but on iWARP done may be ahead of sent. A slot is free again when it was
  // sent and a completion after it was polled.
  std::vector<SendRequest> requests;
  std::vector<ibv_sge> entries;
  std::vector<std::byte> inlined;
  std::uint64_t posted = 0, sent = 0, done = 0, freed = 0;

  // Of the adapter; ibv_qp::state is what modify_qp and query_qp last told the caller.
  ibv_qp_state condition;
  ibv_qp_attr attributes{};
  Port* port = nullptr;
  Hold hold = Hold::nothing;
  bool failing = false;      // a delivered request will complete with an error
  bool silent = false;       // iWARP: the connection is lost, and nobody says so
  bool stalled = false;      // in World::stalled
  bool established = false;  // IBV_EVENT_COMM_EST was raised
  bool used = false;         // was connected once
  unsigned unacknowledged = 0;

  // The peer as found when World::epoch was this; the route is looked up again when it has changed.
  enum class Reach : std::uint8_t { ready, not_yet, never } reach = Reach::never;
  QueuePair* peer = nullptr;
  std::size_t largest_packet = 0;  // bytes, that the links on the way take
  std::uint64_t route_epoch = 0;
};

}  // namespace godwit::fake_verbs
