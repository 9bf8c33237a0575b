// What Fabric holds: hosts, processes, keys, routes. Internal to the fake; every member is guarded by `mutex`.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "fake_verbs/objects.hpp"

namespace godwit::fake_verbs {

/// Registered memory by key. Keys are never used twice; rkey differs from lkey, so that mixing them up shows.
class Regions {
 public:
  void add(Region& region);
  void remove(const Region& region);
  /// nullptr: key, domain, bounds or access do not fit.
  std::byte* local(const ibv_sge& piece, const Domain& domain, int access) const;
  std::byte* remote(std::uint32_t rkey, std::uint64_t address, std::uint64_t bytes, const Domain& domain,
                    int access) const;

 private:
  std::byte* find(std::uint32_t key, std::uint64_t address, std::uint64_t bytes, const Domain& domain,
                  int access) const;
  std::vector<Region*> regions_;
};

/// Objects of one kind that a process owns.
template <class Object>
class Owned {
 public:
  Object* add(std::unique_ptr<Object> object) {
    Object* const raw = object.get();
    objects_.emplace(raw, std::move(object));
    return raw;
  }
  bool has(const Object* object) const { return objects_.contains(object); }
  void remove(const Object* object) { objects_.erase(object); }
  std::size_t size() const { return objects_.size(); }
  auto begin() const { return objects_.begin(); }
  auto end() const { return objects_.end(); }

 private:
  std::unordered_map<const Object*, std::unique_ptr<Object>> objects_;
};

struct ProcessState {
  struct Fault {
    std::uint64_t first = 0, last = 0;  // call numbers; 0: none
    int error = 0;
  };
  struct Forced {
    ibv_wr_opcode opcode;
    unsigned nth;
    ibv_wc_status status;
    Executed executed;
  };

  /// Counts a call: 0, or the errno value with which it is to fail.
  int count(Call call) {
    const std::uint64_t number = ++counters.calls[static_cast<std::size_t>(call)];
    const Fault& fault = faults[static_cast<std::size_t>(call)];
    return number >= fault.first && number <= fault.last ? fault.error : 0;
  }
  void release_completions();
  std::vector<std::string> leaks() const;

  World* world = nullptr;
  std::string host, name;  // "node0", "node0/0"
  bool dead = false;
  bool fork_unsafe = false, forked = false, registered = false;
  std::size_t most_registered = ~std::size_t{0};
  Counters counters;
  std::array<Fault, number_of_calls> faults;
  std::vector<Forced> forced;
  std::vector<std::pair<unsigned, ibv_wc_status>> forced_receives;
  std::uint64_t lost_completion = 0;  // its number
  bool late = false;
  std::vector<std::pair<CompletionQueue*, CompletionQueue::Entry>> waiting;  // while late

  Owned<Context> contexts;
  Owned<Domain> domains;
  Owned<Region> regions;
  Owned<Channel> channels;
  Owned<CompletionQueue> completion_queues;
  Owned<SharedReceiveQueue> receive_queues;
  Owned<QueuePair> queue_pairs;
  std::unordered_map<ibv_device**, std::vector<ibv_device*>> lists;
};

struct World {
  std::mutex mutex;
  std::condition_variable acknowledged;  // an event that was got
  std::chrono::milliseconds patience{10'000};
  std::map<std::string, std::vector<std::unique_ptr<Device>>, std::less<>> hosts;
  std::map<std::string, std::vector<verbs::NetInterface>, std::less<>> interfaces;  // by host
  std::vector<std::unique_ptr<Process>> processes;
  std::unordered_map<std::uint32_t, QueuePair*> pairs;
  std::uint32_t next_pair = 0x11;
  Regions regions;
  std::uint64_t epoch = 1;  // changes with anything that routes depend on
  std::uint64_t next_order = 1;
  Hold hold = Hold::nothing;
  bool manual_time_outs = false;
  std::set<std::pair<const Port*, const Port*>> cut;
  std::vector<QueuePair*> stalled;  // what they wait for may have come: kick()
  std::vector<std::string> defects;

  void defect(std::string text) { defects.push_back(std::move(text)); }
  /// Lets stalled queue pairs try again.
  void kick();
  void stall(QueuePair& pair);
  void forget(QueuePair& pair);
  Port& find(const PortName& name);  // throws std::invalid_argument
  QueuePair& find(std::uint32_t pair);
};

// routes.cpp
QueuePair::Reach look_up(World& world, QueuePair& pair);
inline QueuePair::Reach reach(World& world, QueuePair& pair) {
  return pair.route_epoch == world.epoch ? pair.reach : look_up(world, pair);
}

// delivery.cpp
bool deliver_next(World& world, QueuePair& pair);
bool acknowledge_next(World& world, QueuePair& pair);
/// Whatever may happen without the test.
void advance(World& world, QueuePair& pair);
/// The oldest request that is not done fails, the rest is flushed.
void fail_oldest(World& world, QueuePair& pair, ibv_wc_status status);

// queue_pair.cpp
int modify(World& world, QueuePair& pair, const ibv_qp_attr& attributes, int mask);
/// ERR; all that is outstanding is flushed.
void enter_error(World& world, QueuePair& pair);
/// Completes what is outstanding with IBV_WC_WR_FLUSH_ERR.
void flush(QueuePair& pair);
void enter_reset(QueuePair& pair);
void complete_send(QueuePair& pair, SendRequest& request);
void complete_receive(QueuePair& pair, ReceiveQueue::Request& request, const ibv_wc& completion, bool solicited);

// post.cpp: the functions of ibv_context::ops
int post_send(ibv_qp* pair, ibv_send_wr* request, ibv_send_wr** bad) noexcept;
int post_recv(ibv_qp* pair, ibv_recv_wr* request, ibv_recv_wr** bad) noexcept;
int post_srq_recv(ibv_srq* queue, ibv_recv_wr* request, ibv_recv_wr** bad) noexcept;
// completion.cpp
int poll_cq(ibv_cq* queue, int most, ibv_wc* completions) noexcept;
int req_notify_cq(ibv_cq* queue, int solicited_only) noexcept;

// events.cpp
/// The queue pair that an event is about, or nullptr.
QueuePair* pair_of(const ibv_async_event& event);
void raise(QueuePair& pair, ibv_event_type type);
void raise(CompletionQueue& queue, ibv_event_type type);
void raise(const Port& port, ibv_event_type type);
void raise(const Device& device, ibv_event_type type);

}  // namespace godwit::fake_verbs
