// Worker: one progress engine. Poll transports -> dispatch -> pending queues -> streams.
//
// Threads: ThreadMode::single: one owner thread (asserted in debug builds). ThreadMode::multiple: every public
// call below is made under lock(), and wait() releases it between passes. notify_*() may come from any thread.
// Handlers and callbacks run inside progress(): they may post, they must not wait.
#pragma once

#include <godwit/error.hpp>
#include <godwit/types.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/bootstrap.hpp"
#include "core/card.hpp"
#include "core/core_options.hpp"
#include "core/function_ref.hpp"
#include "core/group.hpp"
#include "core/matcher.hpp"
#include "core/operation.hpp"
#include "core/peer.hpp"
#include "core/poller.hpp"
#include "core/regions.hpp"
#include "core/services.hpp"
#include "core/transport.hpp"
#include "core/wait_ladder.hpp"

namespace godwit::core {

/// Called when an operation is done, exactly once, from progress(); then the owner calls release().
struct Continuation {
  Operation::Callback on_complete = nullptr;
  void* owner = nullptr;
};

struct SendArguments {
  Group* group = nullptr;
  std::span<const std::byte> data;
  Rank to = 0;  // in the group
  Tag tag = 0;
  bool synchronous = false;
  bool collective = false;      // on the group's collective context
  std::uint32_t signature = 0;  // collective: signature_of(call)
  Continuation then;
};

struct RecvArguments {
  Group* group = nullptr;
  std::span<std::byte> data;
  Rank from = any_source;
  Tag tag = any_tag;
  bool collective = false;
  std::uint32_t signature = 0;
  Continuation then;
};

/// Other ranks' cards, decoded when first needed.
class PeerDirectory {
 public:
  virtual ~PeerDirectory() = default;
  virtual const Card& card(Rank rank) = 0;
  virtual int size() const noexcept = 0;
};

class Worker {
 public:
  using Lock = std::unique_lock<std::recursive_mutex>;
  using Words = FunctionRef<std::string()>;

  /// `transports` in order of preference. `oversubscribed`: more ranks on this host than CPUs for them. `missing`: why
  /// others are not there, for errors.
  Worker(Services& services, PeerDirectory& directory, const JobInfo& job, ThreadMode mode,
         std::vector<std::unique_ptr<Transport>> transports, bool oversubscribed, std::string missing = {});
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Is the context one of a group that this rank has given up?
  bool is_gone(std::uint32_t context) noexcept;
  /// Holds the worker's lock in ThreadMode::multiple; asserts the owner thread otherwise.
  Lock lock() {
    if (mode_ == ThreadMode::multiple) return lock_shared();
#ifndef NDEBUG
    check_owner();
#endif
    return {};
  }

  // --- posting. nullptr: done successfully. Else an operation to wait for and to release -------------------
  Operation* post_send(const SendArguments& arguments);
  /// Without a continuation always returns an operation (perhaps done), because it holds the MessageInfo.
  Operation* post_recv(const RecvArguments& arguments);
  Operation* post_active(Group& group, std::span<const std::byte> data, Rank to, std::uint16_t handler);
  Operation* post_put(RemoteRegion& target, std::span<const std::byte> data, std::uint64_t offset,
                      std::optional<std::uint16_t> notify, Group* group = nullptr) {
    std::optional<std::uint32_t> imm;
    if (notify) imm = static_cast<std::uint32_t>(target.slot) << 16 | *notify;
    if (Endpoint* way = open_way(target, group);
        way != nullptr && way->put(data, {target.base + offset, *target.handle}, imm)) [[likely]]
      return nullptr;
    return post_put_slowly(target, data, offset, imm, group);
  }
  Operation* post_get(RemoteRegion& target, std::span<std::byte> data, std::uint64_t offset, Group* group = nullptr);
  /// kind: fetch_add or compare_swap; the value before goes to *result, widened to 64 bits.
  /// 4 bytes wide: always executed by a CPU, whatever the target's domain.
  Operation* post_atomic(Operation::Kind kind, RemoteRegion& target, std::uint64_t offset, std::uint32_t width,
                         std::uint64_t operand, std::uint64_t compare, std::uint64_t* result, Group* group = nullptr);

  // --- matching ------------------------------------------------------------------------------------------
  /// One pass of progress, then a look.
  std::optional<MessageInfo> probe(Group& group, Rank from, Tag tag);
  /// Takes the message out of the unexpected queue; the operation holds it until receive_matched().
  Operation* probe_matched(Group& group, Rank from, Tag tag);
  void receive_matched(Operation& operation, std::span<std::byte> data);
  /// Drops a matched message that nobody wants, and the operation with it.
  void discard_matched(Operation& operation) noexcept;
  /// True if the receive had not matched: it is done then, with `cancelled`.
  bool cancel(Operation& operation);

  // --- progress and waiting --------------------------------------------------------------------------------
  /// One pass; returns how many events it handled.
  std::size_t progress();
  /// Now and then: are those that receives wait for alive? wait_until() does it by itself; for loops of test().
  void look_after_sources();
  /// Progresses until `ready` is true: spins, yields, sleeps. Takes the lock itself, `ready` runs under it.
  /// `what` is asked for words when a stall is reported. Throws Error(invalid_argument) inside a handler.
  void wait_until(FunctionRef<bool()> ready, Words what);
  void wait(Operation& operation);
  /// The same under lock(), which it gives up between passes.
  void wait(Operation& operation, Lock& held);
  /// Polled in each pass until it is removed.
  void add_poller(Poller& poller) { pollers_.push_back(&poller); }
  void remove_poller(Poller& poller) noexcept { std::erase(pollers_, &poller); }
  /// Gives the CPU up once. False, at once, in ThreadMode::multiple: that would be done under the lock.
  bool try_yield() noexcept;
  const WaitLadder::Policy& wait_policy() const noexcept { return wait_policy_; }
  /// Waits until everything issued to `target` (in the job) is visible there.
  Status flush(Rank target);
  /// Waits only where the next operation could overtake an earlier one: see fence() in window.hpp.
  Status fence(Rank target);

  // --- operations ------------------------------------------------------------------------------------------
  Operation& new_operation(Operation::Kind kind, Group* group) {
    Operation& operation = pool_.acquire(kind);
    operation.group = group;
    operation.since_ms = services_.clock.now_ms();
    active_.push_back(operation);
    return operation;
  }
  /// Later calls for the same operation are ignored. With work requests still out it is done when they are.
  void complete(Operation& operation);
  void complete(Operation& operation, ErrorCode code, std::string detail);
  void release(Operation& operation) noexcept { pool_.release(operation); }
  /// Nobody waits for it any more: released now or when it is done.
  void abandon(Operation& operation) noexcept;
  Operation* find(OperationId id) noexcept { return pool_.find(id); }

  // --- groups -----------------------------------------------------------------------------------------------
  /// Makes the group known, so that its messages find it. The worker keeps it until nothing refers to it.
  Group& add_group(Group group);
  void remove_group(Group& group) noexcept;
  /// Lower bound of the next free context.
  std::uint32_t next_context() const noexcept { return next_context_; }
  /// Sets a context aside for a group that is about to be added; false if it is taken here.
  bool claim_context(std::uint32_t context);
  void unclaim_context(std::uint32_t context) noexcept { claimed_.erase(context); }
  /// Takes the next sequence number and compares with messages of that collective that came early.
  std::uint64_t begin_collective(Group& group, const CollectiveCall& call, std::uint32_t signature);
  /// Breaks the group here and tells every member. Returns at once, needs nobody's help.
  void abort_group(Group& group, ErrorCode code, const std::string& reason);
  void set_handler(Group& group, std::uint16_t id, ActiveMessageHandler handler);
  bool has_failed(Rank rank_in_job) const noexcept;
  /// Connects to the members of a group that is not too large, and throws Error for one that has failed: for waits
  /// that anyone could end.
  void check_members(const Group& group);

  // --- memory -------------------------------------------------------------------------------------------------
  /// The region in our address space, if its owner is on this host; `later` while connecting.
  Mapping map(RemoteRegion& target);
  RegionTable& regions() noexcept { return regions_; }
  /// Before operations on this region are posted, if fence() is to order them.
  void will_reach(const RemoteRegion& target) noexcept {
    if (target.domain() == AtomicsDomain::adapter) two_ways_ = true;
  }
  std::span<const std::unique_ptr<Transport>> transports() const noexcept { return transports_; }

  // --- from other threads ---------------------------------------------------------------------------------------
  void notify_peer_failed(Rank rank_in_job, std::string reason);
  /// The state of every pending operation goes to the log, written by the worker's thread when it comes by.
  void request_report() noexcept;
  bool report_pending() const noexcept { return report_requested_.load(std::memory_order_relaxed); }
  std::int64_t last_progress_ms() const noexcept { return last_progress_ms_.load(std::memory_order_relaxed); }

  /// Sends what is queued, waits for streams, says good-bye. Gives up after `deadline`.
  void shutdown(std::chrono::milliseconds deadline) noexcept;
  /// Removes all active message handlers.
  void drop_handlers() noexcept;

  // --- for protocols and reports -----------------------------------------------------------------------------------
  Peer& peer(Rank rank_in_job) {
    Peer* known = find_peer(rank_in_job);
    return known != nullptr ? *known : new_peer(rank_in_job);
  }
  Peer* find_peer(Rank rank_in_job) noexcept { return peers_[static_cast<std::size_t>(rank_in_job)].get(); }
  WireHeader header(const Peer& peer, MessageKind kind, const Operation* operation = nullptr) const noexcept;
  /// Posts or queues. True: accepted. A request that asks for no completion tells its protocol when a queued
  /// one is accepted.
  bool submit(Peer& peer, WorkRequest& request);
  /// Posts; false if that did not work at once. Nothing is queued then.
  bool try_submit(Peer& peer, WorkRequest& request);
  /// A message of a protocol; the payload is copied if it has to be queued.
  void send_control(Peer& peer, const WireHeader& header, std::span<const std::byte> payload);
  /// A message that says nothing: if the rank sleeps, it wakes up and looks around.
  void nudge(Rank rank_in_job);
  void add_stream(Operation& operation);
  /// An atomic on a region of ours, in the adapter's domain, that came as a message; answers with AtomicReply.
  void ask_own_adapter(Peer& asking, const AtomicRequest& wish);
  /// Fails an operation of a group some passes later: if its peer has given the group up, the words that say so are
  /// on their way, and explain it better.
  void fail_later(Operation& operation, ErrorCode code, std::string detail);
  /// One-sided: from now on until it is done the operation is not (known to be) visible at the target.
  void count_outstanding(Operation& operation, bool emulated) noexcept;
  /// One-sided: `open` while a later operation could overtake it. Lets held notifications go.
  void set_posting(Operation& operation, bool open) {
    if (operation.posting == open) return;
    operation.posting = open;
    Peer& to = *operation.peer;
    to.unposted += open ? 1 : std::uint64_t(-1);
    if (to.unposted == 0 && !to.held.empty()) [[unlikely]]
      start_held(to);
  }
  void grant_credit(Peer& peer, std::size_t bytes) {
    peer.owed += bytes;
    if (peer.owed >= credit_step_) [[unlikely]]
      send_credit(peer);
  }
  void deliver_active(std::uint32_t context, std::uint16_t id, Peer& source, std::span<const std::byte> payload,
                      std::size_t charged);
  /// Fetches an announced active message when its handler is there and memory for incoming ones is left.
  void receive_active(Peer& source, const WireHeader& header, const ReadyToSend& announcement);
  /// Tells the sender of an announcement that it will not be received.
  void refuse(Peer& sender, const ReadyToSend& announcement, ErrorCode code);
  /// The same when that is because the group is broken: with the reason.
  void refuse(Peer& sender, const ReadyToSend& announcement, Group& broken);
  /// Relays why a group is broken, so that what follows is understood.
  void tell_verdict(Group& broken, Peer& to);
  /// The peer has ended (or will not begin) to read what an operation announced: false if that was not taken back.
  bool release_taken_back(const Peer& reader, OperationId id) noexcept;
  /// A message of a collective came early: does it belong to a call of ours with other arguments?
  void check_early(const Unexpected& message);
  /// `source` waits for our part of a collective: is it the call that we have made, or shall make?
  void check_awaited(Peer& source, std::uint32_t context, Tag sequence, std::uint32_t signature);
  void mismatch(Group& group, Rank source, std::uint64_t sequence);
  void handle_abort(Peer& from, std::uint32_t context, const AbortMessage& message, std::string_view words);
  /// The peer broke the protocol: no more is done with it.
  void protocol_error(Peer& peer, std::string_view words);
  /// A message of the operation could not be sent: its successors would not be understood, so no more is done with
  /// the peer.
  void send_failed(Operation& operation, ErrorCode status, std::string_view detail);
  Group* find_group(std::uint32_t context) noexcept;
  Matcher& matcher() noexcept { return matcher_; }
  Rank rank() const noexcept { return job_.rank; }
  const JobInfo& job() const noexcept { return job_; }
  const CoreOptions& options() const noexcept { return options_; }
  Services& services() noexcept { return services_; }
  PeerDirectory& directory() noexcept { return directory_; }

  // --- words (worker_report.cpp)
  // ---------------------------------------------------------------------------------------
  /// "rank 3 (node1, pid 4711)"
  std::string name_of(Rank rank_in_job);
  std::string lost_words(const Peer& peer);
  std::string truncation_words(const Operation& receive);
  std::string describe(const Operation& operation);
  std::string describe_all();

 private:
  // A collective that does not fit to ours: `source` has been asked for its call.
  struct Mismatch {
    std::uint32_t context = 0;
    Rank source = 0;
    std::uint64_t sequence = 0;
    std::int64_t deadline_ms = 0;
  };
  // A rank waits for our part of a call that we have not made.
  struct Awaited {
    std::uint32_t context = 0;  // of the collectives
    Rank source = 0;
    std::uint64_t sequence = 0;
    std::uint32_t signature = 0;
    friend bool operator==(const Awaited&, const Awaited&) = default;
  };
  // Who knows that a peer is lost: the transport ends all that was posted to it, others do not.
  enum class LossSeenBy : std::uint8_t { transport, others };
  // Memory of an aborted send that the peer has been told of and may still read, until it answers or is lost.
  struct TakenBack {
    const Peer* reader = nullptr;
    std::unique_ptr<Registration> registration;
  };
  struct EarlyAbort {
    Rank from = 0;
    AbortMessage message;
    std::string words;
  };

  // worker.cpp
  Lock lock_shared();
  void check_owner();
  void send_credit(Peer& peer);
  Peer& new_peer(Rank rank_in_job);
  void open(Peer& peer);
  void attach(Peer& peer, Transport& transport, const PeerInfo& info);
  void dispatch(const Completion& completion, Transport& from);
  void on_message(const Completion& completion);
  void handle_message(Peer& from, std::span<const std::byte> payload);
  void handle_early(Peer& from);
  void on_done(Operation& operation, ErrorCode status, std::string_view detail);
  void on_connected(Peer& peer);
  void drain(Peer& peer);
  void slow_progress();
  std::size_t run_pollers();
  // worker_post.cpp
  Operation* post_send_slowly(const SendArguments& arguments, Peer& peer);
  Operation* launch(Operation& operation, Continuation then);
  Operation* defer(Operation& operation, ErrorCode code, std::string detail, Continuation then);
  void start(Operation& operation);
  void start_held(Peer& to);
  void import_key(RemoteRegion& target, Peer& owner);
  /// The endpoint, when what reaches it now overtakes nothing, and it may reach the memory.
  Endpoint* open_way(RemoteRegion& target, const Group* group) {
    Peer& owner = peer(target.owner);
    if (owner.state != Peer::State::ready || owner.blocked || owner.unposted != 0 || !owner.waiting.empty() ||
        (group != nullptr && group->broken)) [[unlikely]]
      return nullptr;
    if (!target.imported) [[unlikely]]
      import_key(target, owner);
    return target.handle ? owner.endpoint.get() : nullptr;
  }
  Operation* post_put_slowly(RemoteRegion& target, std::span<const std::byte> data, std::uint64_t offset,
                             std::optional<std::uint32_t> imm, Group* group);
  void keep_key(Operation& operation, const RemoteRegion& target);
  Operation& new_one_sided(Operation::Kind kind, RemoteRegion& target, std::uint64_t offset, std::uint64_t size,
                           Group* group);
  void settle(Operation& operation) {
    if (operation.outstanding || operation.posting) settle_one_sided(operation);
  }
  void settle_one_sided(Operation& operation);
  // worker_atomics.cpp
  /// The peer whose endpoint reaches the adapter that executes atomics on memory of `owner`; nullptr: there is none.
  Peer* adapter_peer(Rank owner, std::string_view transport);
  Peer* find_adapter_peer(Rank owner) noexcept;
  Peer& peer_of(Rank rank_in_job, const Transport& over);
  void open_to_adapter(Peer& peer, std::string_view transport);
  void aim_at_adapter(Operation& operation, RemoteRegion& target);
  static bool may_start(const Peer& way, const Group* group) noexcept {
    return way.state == Peer::State::ready && !way.blocked && way.waiting.empty() &&
           (group == nullptr || !group->broken);
  }
  void send_to_owner(Operation& operation);
  bool carries(const Transport& transport, Rank rank_in_job);
  void on_lost_over(const Completion& completion, const Transport& over);
  static bool all_visible(const Peer& to) noexcept;
  void finish(Operation& operation, ErrorCode code, std::string detail);
  void retire(Operation& operation);
  // worker_stream.cpp
  void pump_streams();
  bool pump_stream(Operation& operation);
  // worker_failure.cpp
  void on_lost(Rank rank_in_job, ErrorCode status, std::string_view detail, LossSeenBy seen_by);
  void lose(Peer& lost, ErrorCode status, std::string_view detail, LossSeenBy seen_by);
  void fail_operations(Peer& peer, LossSeenBy seen_by);
  void connection_failed(Peer& to, ErrorCode status, std::string_view detail);
  void drop_pending(Peer& lost);
  const Peer* failed_member(const Group& group) const noexcept;
  void break_group(Group& group, ErrorCode code, const std::string& reason);
  void take_back(Operation& operation);
  void release_taken_back(const Peer* reader) noexcept;
  void drop_messages(Group& group);
  void send_abort(Group& group, Rank to, const AbortMessage& message, std::string_view words);
  void announce_verdict(Group& group, Rank but, ErrorCode code, const std::string& reason);
  void watch_sources();
  // worker_mismatch.cpp
  void check_known(Group& group, std::uint64_t sequence, std::uint32_t signature);
  void check_call(Group& group, Rank source, std::uint64_t sequence, std::uint32_t signature);
  void tell_sources(std::int64_t after_ms);
  void expire_mismatches();
  std::string own_call(const Group& group, std::uint64_t sequence);
  void end_mismatch(Group& group, Rank other, std::uint64_t sequence, std::string_view other_call);
  // worker_active.cpp
  void begin_active(Peer& source, std::uint32_t context, Tag id, const ReadyToSend& announcement);
  void start_waiting_active();
  void keep_early(std::uint32_t context, std::uint16_t id, Peer& source, Unexpected& message);
  void drop_early(Group& group) noexcept;
  void purge_groups();
  // worker_report.cpp
  std::string describe_collective(const Operation& operation);
  std::string since_words(const Operation& operation) const;
  // worker_wait.cpp
  Operation& post_flush(Peer& to);
  /// The operation is done when the peer has all that was posted to it before.
  void submit_flush(Peer& to, Operation& operation);
  void wake_waiters() noexcept {
    if (sleeping_ || followers_ > 0) [[unlikely]]
      wake_others();
  }
  void wake_others() noexcept;
  template <class Ready>
  void wait_under(Lock& held, const Ready& ready, Words what);
  bool pause(WaitLadder& ladder, std::int64_t since_ms, std::int64_t& warned_ms, Words what, Lock& held);
  void warn_if_stalled(std::int64_t since_ms, std::int64_t& warned_ms, Words what);
  void sleep(Lock& held);
  bool arm_pollers() noexcept;
  void wake() noexcept;

  Services& services_;
  PeerDirectory& directory_;
  const JobInfo job_;
  const CoreOptions& options_;
  const ThreadMode mode_;
  const WaitLadder::Policy wait_policy_;
  const std::size_t credit_step_;  // credit is granted in pieces of at least this
  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<Transport*> polled_;  // those of them that something can come from
  bool relaxes_ = false;            // one of these watches memory
  OperationPool pool_;
  ActiveList active_;
  OperationQueue streams_;
  OperationQueue deferred_;  // failed while being posted
  Matcher matcher_;
  RegionTable regions_;
  std::vector<std::unique_ptr<Peer>> peers_;                          // by rank in the job; empty = never used
  std::unordered_map<Rank, std::unique_ptr<Peer>> adapter_peers_;     // second ways: Peer::adapter_only
  bool two_ways_ = false;                                             // there may be such
  std::vector<Peer*> blocked_;                                        // peers with queued work requests
  std::unordered_map<std::uint32_t, std::unique_ptr<Group>> groups_;  // by even context
  std::vector<std::unique_ptr<Group>> retired_groups_;                // removed while operations refer to them
  std::unordered_map<std::uint32_t, EarlyAbort> early_aborts_;
  std::unordered_map<OperationId, TakenBack> taken_back_;
  std::unordered_map<std::uint32_t, std::vector<Unexpected*>> early_active_;  // no group or handler yet
  std::deque<Unexpected*> waiting_active_;                                    // announced, wait for memory
  std::size_t incoming_active_ = 0;  // bytes allocated for active messages on their way in
  std::vector<std::map<std::uint16_t, ActiveMessageHandler>::node_type> retired_handlers_;  // removed while one runs
  std::vector<Poller*> pollers_;
  std::vector<Mismatch> mismatches_;  // wait for the other side's words
  std::vector<Awaited> awaited_;
  int died_ = 0;  // peers that are lost without a good-bye
  std::uint32_t next_context_ = 2;
  std::set<std::uint32_t> claimed_;  // contexts of groups that will be added
  std::array<Completion, 16> completions_;
  bool in_progress_ = false;
  bool has_left_ = false;  // good-bye is said: nothing is sent any more
  bool busy_ = false;      // slow_progress() has something to do
  bool in_handler_ = false;
  std::int64_t watched_ms_ = 0;

  std::recursive_mutex mutex_;
  std::condition_variable_any handed_over_;
  bool leader_ = false;    // multiple: somebody runs the progress loop
  bool sleeping_ = false;  // that somebody sleeps without the lock
  std::size_t followers_ = 0;
  std::atomic<int> contenders_{0};  // threads that want the lock: the leader lets them in between passes
  std::thread::id owner_;           // single
  std::thread::id handler_thread_;

  int epoll_fd_ = -1;
  int wake_fd_ = -1;
  std::mutex notify_mutex_;  // guards notifications_
  std::vector<std::pair<Rank, std::string>> notifications_;
  std::atomic<bool> notified_{false};
  const std::string missing_;  // transports that are not there, and why
  std::atomic<bool> report_requested_{false};
  std::atomic<std::int64_t> last_progress_ms_{0};
};

}  // namespace godwit::core
