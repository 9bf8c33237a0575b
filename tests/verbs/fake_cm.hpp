// rdma_cm in memory, for RoCE: connections between processes of one test, and what can go wrong with each step.
// Threads: any, one lock.
#pragma once

#include "verbs/address.hpp"
#include "verbs/cm_api.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace godwit::verbs {

struct FakeId;
struct FakeChannel;
struct FakeEvent;

class CmNetwork {
 public:
  enum class Step { channel, listen, address, route, connect, accept, establish };
  struct Fault {
    int error = 0;  // of the call itself: an errno value
    rdma_cm_event_type event = RDMA_CM_EVENT_TIMEWAIT_EXIT;
    int status = 0;  // of the event that comes instead
  };

  CmNetwork();
  ~CmNetwork();
  CmNetwork(const CmNetwork&) = delete;
  CmNetwork& operator=(const CmNetwork&) = delete;

  /// What a process at this address uses; `port`: "rxe0:1". Lives as long as the network.
  CmApi& process(std::string port, const Gid& ip, std::uint8_t gid_index);
  /// The next time that anybody comes to this step it ends so.
  void fail(Step step, Fault fault);
  /// All connections end, without a reason.
  void disconnect();
  std::size_t faults_left() const;

 private:
  friend class FakeCm;
  using Guard = std::lock_guard<std::recursive_mutex>;

  /// True: the step fails, and `error` is of the call, or 0 when an event says it.
  bool fails(Step step, FakeId& id, int& error);
  void push(FakeId& to, rdma_cm_event_type type, int status = 0, FakeId* subject = nullptr,
            std::vector<std::byte> data = {});
  void part(FakeId& id);
  FakeId& make(FakeChannel& queue, const std::string& port, const Gid& ip, std::uint8_t gid_index);

  mutable std::recursive_mutex mutex_;
  std::vector<std::unique_ptr<CmApi>> processes_;
  std::map<Step, std::deque<Fault>> faults_;
  std::map<std::uint16_t, FakeId*> listeners_;
  std::map<const rdma_cm_id*, std::unique_ptr<FakeId>> ids_;
  std::uint16_t next_port_ = 20000;
  std::uint32_t next_packet_ = 1000;
};

}  // namespace godwit::verbs
