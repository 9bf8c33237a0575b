#include "collectives/simulator/simulation.hpp"

#include <godwit/error.hpp>

#include <fmt/format.h>

#include <deque>
#include <queue>
#include <unordered_map>

namespace godwit::collectives::simulator {

namespace {

constexpr double instant = 1e-13;  // events nearer to each other than this are at the same time

class Simulation {
 public:
  Simulation(std::span<const Plan> plans, const Network& network, const Symmetry& symmetry, std::uint64_t element_size,
             bool with_activities)
      : plans_(plans),
        network_(network),
        cluster_(network.cluster()),
        symmetry_(symmetry),
        element_size_(element_size),
        with_activities_(with_activities),
        sharing_(network.capacities()),
        ranks_(plans.size()) {}

  Outcome run() {
    for (std::size_t seat = 0; seat < plans_.size(); ++seat) ranks_[seat].frontier.start(plans_[seat]);
    for (std::size_t seat = 0; seat < plans_.size(); ++seat) advance(static_cast<Rank>(seat));
    for (;;) {
      const double end = sharing_.next_end(now_);
      const double timer = timers_.empty() ? Sharing::never : timers_.top().time;
      const double next = std::min(end, timer);
      if (next == Sharing::never) break;
      now_ = next;
      for (std::uint64_t job = 0; sharing_.pop(now_ + instant, job);) job_ended(job);
      while (!timers_.empty() && timers_.top().time <= now_ + instant) {
        const Timer due = timers_.top();
        timers_.pop();
        timer_ended(due);
      }
    }
    require_done();
    outcome_.seconds = now_;
    outcome_.used = sharing_.used();
    return std::move(outcome_);
  }

 private:
  using MessageId = std::uint32_t;
  static constexpr std::uint64_t local_job = std::uint64_t{1} << 63;  // owner of a job: a seat, else a message

  struct Message {
    StepIndex send = 0, recv = Plan::none;
    std::uint32_t channel = 0;
    std::uint64_t bytes = 0;
    bool ready = false, arrived = false, posted = false;  // posted: its receive has started
    std::uint32_t activity = Activity::none;
  };
  /// First in, first out; small while it is empty, for there may be a million of them.
  class Queue {
   public:
    bool empty() const noexcept { return head_ == items_.size(); }
    std::uint32_t front() const noexcept { return items_[head_]; }
    void push(std::uint32_t item) { items_.push_back(item); }
    void pop() noexcept {
      if (++head_ < items_.size()) return;
      items_.clear();
      head_ = 0;
    }

   private:
    std::vector<std::uint32_t> items_;
    std::size_t head_ = 0;
  };
  /// From one rank to another; both are seats.
  struct Channel {
    Rank from = 0, to = 0;
    Path path{};
    Queue sends{};     // messages that have been posted and not left; the first may be on its way
    Queue unmet{};     // messages whose receive has not started
    Queue receives{};  // steps that have started before their message was posted
    bool busy = false;
  };
  /// What a rank's processor has to do.
  struct Work {
    enum class Then : std::uint8_t { post, receive, step };
    Then then;
    Activity::Kind kind;
    std::uint32_t id;  // message, or step
    double seconds;
    std::uint64_t bytes;
  };
  struct RankState {
    Frontier frontier;
    std::deque<Work> works;  // the first one is being done
    bool busy = false, advancing = false;
    std::uint32_t activity = Activity::none;
  };
  struct Timer {
    double time;
    std::uint64_t order;
    MessageId message;
    bool handshake;
    std::uint32_t activity;
    bool operator>(const Timer& other) const noexcept {
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  RankState& state(Rank seat) { return ranks_[static_cast<std::size_t>(seat)]; }
  const Step& step_of(Rank seat, StepIndex step) const { return plans_[static_cast<std::size_t>(seat)].step(step); }

  // Activities: what is going on when something begins is what it waited for.
  std::uint32_t begin(Activity::Kind kind, Rank rank, Rank peer, std::uint64_t bytes) {
    if (!with_activities_) return Activity::none;
    outcome_.activities.push_back({kind, rank, peer, bytes, now_, now_, current_});
    return static_cast<std::uint32_t>(outcome_.activities.size() - 1);
  }
  void ended(std::uint32_t activity) {
    current_ = activity;
    if (!with_activities_) return;
    outcome_.activities[activity].end_s = now_;
    outcome_.last = activity;
  }

  void advance(Rank seat) {
    RankState& rank = state(seat);
    if (rank.advancing) return;  // somebody up the stack goes on
    rank.advancing = true;
    for (StepIndex step = 0; rank.frontier.pop(step);) start(seat, step);
    rank.advancing = false;
    if (rank.frontier.done() && outcome_.first_s == 0) outcome_.first_s = now_;
  }

  void complete(Rank seat, StepIndex step) {
    state(seat).frontier.complete(step);
    advance(seat);
  }

  void start(Rank seat, StepIndex index) {
    const Step& step = step_of(seat, index);
    const std::uint64_t bytes = step.count * element_size_;
    switch (step.kind) {
      case StepKind::send: {
        const std::uint32_t channel = channel_of(seat, symmetry_.distance(seat, step.peer), step.peer);
        const auto id = static_cast<MessageId>(messages_.size());
        messages_.push_back({.send = index, .channel = channel, .bytes = bytes});
        ++outcome_.messages;
        work(seat, {Work::Then::post, Activity::Kind::overhead, id, overhead(channels_[channel], bytes, false), bytes});
        return;
      }
      case StepKind::recv: {
        const int distance = symmetry_.distance(step.peer, seat);
        return receive(channel_of(symmetry_.seat(step.peer), distance, seat), index);
      }
      case StepKind::reduce:
      case StepKind::scale:
        return work(seat, {Work::Then::step, Activity::Kind::reduce, index,
                           static_cast<double>(bytes) / cluster_.reduce_Bps, bytes});
      case StepKind::copy:
        return work(seat, {Work::Then::step, Activity::Kind::copy, index,
                           static_cast<double>(bytes) / cluster_.copy_Bps, bytes});
    }
  }

  std::uint32_t channel_of(Rank from_seat, int distance, Rank to) {
    const auto [found, made] =
        channel_index_.try_emplace(static_cast<std::uint64_t>(from_seat) << 32 | static_cast<std::uint32_t>(distance),
                                   static_cast<std::uint32_t>(channels_.size()));
    if (made) {
      const Rank from = symmetry_.source(to, distance);
      channels_.push_back({.from = from_seat, .to = symmetry_.seat(to), .path = network_.path(from, to)});
    }
    return found->second;
  }

  // The processor of a rank.
  void work(Rank seat, const Work& work) {
    RankState& rank = state(seat);
    rank.works.push_back(work);
    if (!rank.busy) work_on(seat);
  }

  /// Begins the first work; does those at once that take no time.
  void work_on(Rank seat) {
    RankState& rank = state(seat);
    rank.busy = true;
    while (!rank.works.empty()) {
      const Work next = rank.works.front();
      if (next.seconds > 0) {
        rank.activity = begin(next.kind, seat, -1, next.bytes);
        const Use use{network_.processor(seat), 1};
        return sharing_.start(now_, next.seconds, {&use, 1}, local_job | static_cast<std::uint64_t>(seat));
      }
      rank.works.pop_front();
      worked(seat, next);
    }
    rank.busy = false;
  }

  void worked(Rank seat, const Work& done) {
    switch (done.then) {
      case Work::Then::post: return post(done.id);
      case Work::Then::receive: return complete(seat, messages_[done.id].recv);
      case Work::Then::step: return complete(seat, done.id);
    }
  }

  // Messages.
  void post(MessageId id) {
    Channel& channel = channels_[messages_[id].channel];
    channel.sends.push(id);
    if (channel.receives.empty()) {
      channel.unmet.push(id);
    } else {
      messages_[id].posted = true;
      messages_[id].recv = channel.receives.front();
      channel.receives.pop();
    }
    if (eager(messages_[id].bytes))
      make_ready(id);
    else if (messages_[id].posted)
      shake_hands(id);
  }

  void receive(std::uint32_t channel_id, StepIndex recv) {
    Channel& channel = channels_[channel_id];
    if (channel.unmet.empty()) return channel.receives.push(recv);
    const MessageId id = channel.unmet.front();
    channel.unmet.pop();
    messages_[id].posted = true;
    messages_[id].recv = recv;
    if (!eager(messages_[id].bytes)) return shake_hands(id);
    if (messages_[id].arrived) deliver(id);
  }

  void shake_hands(MessageId id) {
    const Channel& channel = channels_[messages_[id].channel];
    const bool included = channel.path.copied && !cluster_.inside_times.empty();  // in the times that were measured
    if (cluster_.handshake_s == 0 || included) return make_ready(id);
    const auto activity = begin(Activity::Kind::handshake, channel.from, channel.to, 0);
    timers_.push({now_ + cluster_.handshake_s, timer_order_++, id, true, activity});
  }

  void make_ready(MessageId id) {
    messages_[id].ready = true;
    transfer_next(messages_[id].channel);
  }

  void transfer_next(std::uint32_t channel_id) {
    for (;;) {
      Channel& channel = channels_[channel_id];
      if (channel.busy || channel.sends.empty() || !messages_[channel.sends.front()].ready) return;
      channel.busy = true;
      const MessageId id = channel.sends.front();
      if (const double amount = transfer_work(channel, messages_[id].bytes); amount > 0) {
        messages_[id].activity = begin(Activity::Kind::transfer, channel.from, channel.to, messages_[id].bytes);
        return sharing_.start(now_, amount, channel.path.resources(), id);
      }
      leave(id);
    }
  }

  void leave(MessageId id) {
    Channel& channel = channels_[messages_[id].channel];
    channel.sends.pop();
    channel.busy = false;
    const auto activity = begin(Activity::Kind::latency, channel.from, channel.to, 0);
    timers_.push({now_ + channel.path.latency_s, timer_order_++, id, false, activity});
    complete(channel.from, messages_[id].send);
  }

  void deliver(MessageId id) {
    const Channel& channel = channels_[messages_[id].channel];
    const std::uint64_t bytes = messages_[id].bytes;
    work(channel.to, {Work::Then::receive, Activity::Kind::overhead, id, overhead(channel, bytes, true), bytes});
  }

  bool eager(std::uint64_t bytes) const noexcept { return bytes <= cluster_.eager_bytes; }

  bool joint(std::uint64_t bytes) const noexcept { return !eager(bytes) && bytes >= cluster_.joint_bytes; }

  /// Of one end's processor, for one message.
  double overhead(const Channel& channel, std::uint64_t bytes, bool receives) const {
    const bool measured = channel.path.copied && !cluster_.inside_times.empty();
    if (!channel.path.copied || joint(bytes)) return measured ? 0 : channel.path.overhead_s;
    const double both = cluster_.copied_s(bytes) - channel.path.latency_s;
    if (eager(bytes)) return both / 2;
    const double sender = measured ? 0 : channel.path.overhead_s;
    return receives ? both - sender : sender;
  }

  /// What shares the path's resources: bytes, or seconds of the processors that copy together.
  double transfer_work(const Channel& channel, std::uint64_t bytes) const {
    if (!channel.path.copied) return static_cast<double>(bytes);
    return joint(bytes) ? cluster_.copied_s(bytes) - channel.path.latency_s - 2 * overhead(channel, bytes, true) : 0;
  }

  void job_ended(std::uint64_t owner) {
    if (owner & local_job) {
      const auto seat = static_cast<Rank>(owner & ~local_job);
      RankState& rank = state(seat);
      const Work done = rank.works.front();
      rank.works.pop_front();
      ended(rank.activity);
      worked(seat, done);
      return work_on(seat);
    }
    const auto id = static_cast<MessageId>(owner);
    ended(messages_[id].activity);
    const std::uint32_t channel = messages_[id].channel;
    leave(id);
    transfer_next(channel);
  }

  void timer_ended(const Timer& due) {
    ended(due.activity);
    if (due.handshake) return make_ready(due.message);
    messages_[due.message].arrived = true;
    if (messages_[due.message].posted) deliver(due.message);
  }

  void require_done() const {
    for (std::size_t seat = 0; seat < ranks_.size(); ++seat)
      if (!ranks_[seat].frontier.done())
        throw Error(ErrorCode::internal, fmt::format("simulation: rank {} has not finished and nothing is going on any "
                                                     "more: its schedule and those of its peers do not fit together",
                                                     seat));
  }

  std::span<const Plan> plans_;
  const Network& network_;
  const Cluster& cluster_;
  const Symmetry& symmetry_;
  const std::uint64_t element_size_;
  const bool with_activities_;
  Sharing sharing_;
  std::vector<RankState> ranks_;
  std::vector<Message> messages_;
  std::vector<Channel> channels_;
  std::unordered_map<std::uint64_t, std::uint32_t> channel_index_;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  std::uint64_t timer_order_ = 0;
  double now_ = 0;
  std::uint32_t current_ = Activity::none;
  Outcome outcome_;
};

}  // namespace

Outcome simulate(std::span<const Plan> plans, const Network& network, const Symmetry& symmetry,
                 std::uint64_t element_size, bool with_activities) {
  return Simulation(plans, network, symmetry, element_size, with_activities).run();
}

}  // namespace godwit::collectives::simulator
