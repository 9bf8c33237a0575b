// The progress engine: peers, dispatch of completions, pending queues.
#include "core/worker.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/protocols/handlers.hpp"
#include "core/raised.hpp"

namespace godwit::core {

namespace {

void watch_fd(int epoll_fd, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  if (::epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
    throw Error(ErrorCode::no_memory, fmt::format("epoll_ctl: {}; see `ulimit -n`", std::strerror(errno)));
}

// A message of a protocol whose payload the transport has not read yet. Not in the list: nobody chooses it.
const Protocol control_protocol{"control",
                                Operation::Kind::control,
                                false,
                                false,
                                "",
                                nullptr,
                                nullptr,
                                nullptr,
                                [](Worker& worker, Operation& operation, ErrorCode status, std::string_view detail) {
                                  if (status != ErrorCode::ok) return worker.send_failed(operation, status, detail);
                                  --operation.in_flight;
                                  worker.complete(operation);
                                }};

}  // namespace

Worker::Worker(Services& services, PeerDirectory& directory, const JobInfo& job, ThreadMode mode,
               std::vector<std::unique_ptr<Transport>> transports, bool oversubscribed, std::string missing)
    : services_(services),
      directory_(directory),
      job_(job),
      options_(services.options.get<CoreOptions>()),
      mode_(mode),
      wait_policy_(WaitLadder::policy(options_.wait->value, oversubscribed)),
      credit_step_(options_.eager_window->value / 4),
      transports_(std::move(transports)),
      peers_(static_cast<std::size_t>(job.size)),
      missing_(std::move(missing)) {
  epoll_fd_ = ::epoll_create1(EPOLL_CLOEXEC);
  wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (epoll_fd_ < 0 || wake_fd_ < 0)
    throw Error(ErrorCode::no_memory,
                fmt::format("cannot make an event descriptor: {}; see `ulimit -n`", std::strerror(errno)));
  watch_fd(epoll_fd_, wake_fd_);
  for (const auto& transport : transports_) {
    if (transport->event_fd() >= 0) watch_fd(epoll_fd_, transport->event_fd());
    if (!transport->silent_until_opened()) polled_.push_back(transport.get());
  }
}

Worker::~Worker() {
  peers_.clear();  // endpoints before their transports
  adapter_peers_.clear();
  transports_.clear();
  ::close(epoll_fd_);
  ::close(wake_fd_);
}

Worker::Lock Worker::lock_shared() {
  Lock held(mutex_, std::try_to_lock);
  if (!held.owns_lock()) {
    contenders_.fetch_add(1, std::memory_order_relaxed);
    held.lock();
    contenders_.fetch_sub(1, std::memory_order_relaxed);
  }
  return held;
}

void Worker::check_owner() {
  if (owner_ == std::thread::id{}) owner_ = std::this_thread::get_id();
  if (owner_ != std::this_thread::get_id())
    throw Error(ErrorCode::invalid_argument, "a second thread uses this context: make it with ThreadMode::multiple");
}

// --- peers -----------------------------------------------------------------------------------------------------

Peer& Worker::new_peer(Rank rank_in_job) {
  std::unique_ptr<Peer>& entry = peers_[static_cast<std::size_t>(rank_in_job)];
  entry = std::make_unique<Peer>();
  entry->rank = rank_in_job;
  open(*entry);
  return *entry;
}

void Worker::attach(Peer& peer, Transport& transport, const PeerInfo& info) {
  peer.transport = &transport;
  peer.endpoint = transport.open_endpoint(info);
  if (std::find(polled_.begin(), polled_.end(), &transport) == polled_.end()) polled_.push_back(&transport);
}

void Worker::open(Peer& peer) {
  std::string reasons;
  try {
    const Card& card = directory_.card(peer.rank);
    for (const auto& transport : transports_) {
      const PeerInfo info{peer.rank, &card, card.address_of(transport->name())};
      const Reach reach = transport->reaches(info);
      services_.log.debug("to {}: {} {}: {}", name_of(peer.rank), transport->name(),
                          reach.ok ? "reaches it" : "does not", reach.reason);
      if (reach.ok) {
        attach(peer, *transport, info);
        return;
      }
      reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", transport->name(), reach.reason);
    }
    peer.lost_status = ErrorCode::unreachable;
    peer.lost_reason = fmt::format(
        "no transport reaches {} from {} ({}{}{}). Between hosts it takes an active RDMA port at both ends: `godwit "
        "ibstat`",
        name_of(peer.rank), name_of(job_.rank), reasons, missing_.empty() ? "" : "; ", missing_);
  } catch (const Error& error) {
    peer.lost_status = error.code();
    peer.lost_reason = error.what();
  }
  peer.state = Peer::State::lost;
  ++died_;
  services_.log.error("{}", peer.lost_reason);
}

void Worker::on_connected(Peer& peer) {
  if (peer.state != Peer::State::connecting) return;  // it was lost meanwhile
  peer.capabilities = peer.endpoint->capabilities();
  const Route route{peer.capabilities, options_.eager_limit->value};
  peer.protocols = ProtocolTable(route);
  peer.eager_max = 0;
  for (const ProtocolTable::Range& range : peer.protocols.ranges())
    if (range.kind == Operation::Kind::send && range.protocol != nullptr && range.protocol->windowed)
      peer.eager_max = range.upto;
  peer.inline_max = peer.capabilities.max_inline;
  peer.piece = peer.capabilities.max_message - sizeof(WireHeader);
  peer.credit = options_.eager_window->value;
  peer.state = Peer::State::ready;
  if (peer.transport->watches_memory()) relaxes_ = true;
  services_.log.info("to {}: {}", name_of(peer.rank), peer.endpoint->describe());
  handle_early(peer);
  while (!peer.waiting.empty() && peer.state == Peer::State::ready) {
    Operation& operation = peer.waiting.front();
    peer.waiting.pop_front();
    start(operation);
  }
}

// --- sending ---------------------------------------------------------------------------------------------------

WireHeader Worker::header(const Peer& peer, MessageKind kind, const Operation* operation) const noexcept {
  WireHeader header;
  header.kind = kind;
  header.epoch = peer.epoch;
  if (operation != nullptr) {
    header.context = operation->context;
    header.signature = operation->signature;
    header.tag = operation->tag;
  }
  return header;
}

bool Worker::try_submit(Peer& peer, WorkRequest& request) {
  if (peer.blocked || peer.state != Peer::State::ready) return false;
  if (request.op == Op::send) request.header.sequence = peer.next_sequence;
  if (peer.endpoint->post({&request, 1}) != 1) return false;
  if (request.op == Op::send) ++peer.next_sequence;
  return true;
}

bool Worker::submit(Peer& peer, WorkRequest& request) {
  if (try_submit(peer, request)) return true;
  if (peer.state == Peer::State::lost) return false;  // its operations have failed with it
  peer.pending.push_back(request);
  if (!peer.blocked) {
    peer.blocked = true;
    blocked_.push_back(&peer);
    busy_ = true;
  }
  return false;
}

void Worker::send_control(Peer& peer, const WireHeader& header, std::span<const std::byte> payload) {
  if (peer.state == Peer::State::lost) return;
  WorkRequest request;
  request.header = header;
  request.signalled = false;
  request.local = {const_cast<std::byte*>(payload.data()), payload.size()};  // only read by a send
  if (payload.size() <= peer.inline_max && try_submit(peer, request)) [[likely]]
    return;
  if (!payload.empty()) {
    Operation& operation = new_operation(Operation::Kind::control, nullptr);
    operation.abandoned = true;
    operation.peer = &peer;
    operation.protocol = &control_protocol;
    operation.state = Operation::State::moving;
    operation.size = payload.size();
    operation.own_buffer = std::make_unique<std::byte[]>(payload.size());
    copy_bytes(operation.own_buffer.get(), payload);
    ++operation.in_flight;
    request.signalled = true;
    request.local = {operation.own_buffer.get(), payload.size()};
    request.cookie = operation.id;
  }
  submit(peer, request);
}

void Worker::send_credit(Peer& peer) {
  if (peer.state == Peer::State::lost) return;
  WireHeader grant = header(peer, MessageKind::credit);
  grant.tag = static_cast<std::int64_t>(peer.owed);
  peer.owed = 0;
  send_control(peer, grant, {});
}

void Worker::nudge(Rank rank_in_job) {
  Peer& to = peer(rank_in_job);
  send_control(to, header(to, MessageKind::credit), {});  // of nothing
}

// --- progress --------------------------------------------------------------------------------------------------

inline void Worker::on_done(Operation& operation, ErrorCode status, std::string_view detail) {
  if (operation.failing) [[unlikely]] {
    if (--operation.in_flight > 0) return;
    if (operation.protocol->on_failed != nullptr) return operation.protocol->on_failed(*this, operation);
    return finish(operation, operation.status, std::move(operation.detail));
  }
  operation.protocol->on_done(*this, operation, status, detail);
}

[[gnu::always_inline]] inline void Worker::handle_message(Peer& from, std::span<const std::byte> payload) {
  const auto header = read_wire<WireHeader>(payload);
  if (!header) [[unlikely]]
    return protocol_error(from, "a message without a header");
  if (header->version != wire_version) [[unlikely]]
    return protocol_error(
        from, fmt::format("wire version {} there, {} here: use one version of Godwit", header->version, wire_version));
  if (header->sequence != from.expected_sequence) [[unlikely]]
    return protocol_error(from, fmt::format("message {} came where {} was due: messages were lost", header->sequence,
                                            from.expected_sequence));
  ++from.expected_sequence;
  if (header->kind == MessageKind::eager) [[likely]]
    return on_eager(*this, from, *header, payload);
  const MessageHandler handler = handler_of(header->kind);
  if (handler == nullptr) [[unlikely]]
    return protocol_error(from, fmt::format("unknown kind of message {}", static_cast<int>(header->kind)));
  handler(*this, from, *header, payload);
}

inline void Worker::on_message(const Completion& completion) {
  Peer& from = peer(completion.peer);
  if (from.state == Peer::State::ready) [[likely]]
    return handle_message(from, completion.payload);
  // After a loss nothing more is done with the peer. Before the connection we could not answer.
  if (from.state == Peer::State::connecting)
    from.early.emplace_back(completion.payload.begin(), completion.payload.end());
}

inline void Worker::dispatch(const Completion& completion, Transport& from) {
  switch (completion.kind) {
    case Completion::Kind::message: return on_message(completion);
    case Completion::Kind::notify: return regions_.notify(completion.imm);
    case Completion::Kind::done: {
      Operation* operation = pool_.find(completion.cookie);
      if (operation != nullptr && !operation->done()) return on_done(*operation, completion.status, completion.detail);
      // Nobody waits for it, but a message that was not sent is missed by the peer.
      if (completion.status != ErrorCode::ok)
        connection_failed(peer_of(completion.peer, from), completion.status, completion.detail);
      return;
    }
    case Completion::Kind::connected: return on_connected(peer_of(completion.peer, from));
    case Completion::Kind::peer_lost: return on_lost_over(completion, from);
  }
}

std::size_t Worker::progress() {
  if (in_progress_) return 0;  // called from a handler or callback
  const Raised raised(in_progress_);
  std::size_t events = 0;
  // dispatch() may open an endpoint of one more transport: go by index.
  // NOLINTNEXTLINE(modernize-loop-convert)
  for (std::size_t t = 0; t < polled_.size(); ++t) {
    const std::size_t count = polled_[t]->poll(completions_);
    events += count;
    for (std::size_t i = 0; i < count; ++i) dispatch(completions_[i], *polled_[t]);
  }
  if (busy_ || notified_.load(std::memory_order_relaxed)) [[unlikely]]
    slow_progress();
  if (!pollers_.empty()) events += run_pollers();
  last_progress_ms_.store(services_.clock.now_ms(), std::memory_order_relaxed);
  if (events > 0) wake_waiters();
  return events;
}

void Worker::drain(Peer& peer) {
  while (!peer.pending.empty() && peer.state == Peer::State::ready) {
    WorkRequest& request = peer.pending.front();
    if (request.op == Op::send) request.header.sequence = peer.next_sequence;
    if (peer.endpoint->post({&request, 1}) != 1) return;
    if (request.op == Op::send) ++peer.next_sequence;
    Operation* operation = request.signalled ? nullptr : pool_.find(request.cookie);
    peer.pending.pop_front();
    if (operation != nullptr) on_done(*operation, ErrorCode::ok, {});
  }
}

std::size_t Worker::run_pollers() {
  std::size_t events = 0;
  for (std::size_t i = 0; i < pollers_.size();) {
    Poller* const poller = pollers_[i];
    if (poller->poll()) ++events;
    if (i < pollers_.size() && pollers_[i] == poller) ++i;  // else it has removed itself
  }
  return events;
}

void Worker::slow_progress() {
  // drain() may complete operations whose callbacks block further peers: go by index.
  // NOLINTNEXTLINE(modernize-loop-convert)
  for (std::size_t i = 0; i < blocked_.size(); ++i) drain(*blocked_[i]);
  std::erase_if(blocked_, [](Peer* peer) {
    peer->blocked = !peer->pending.empty();
    return !peer->blocked;
  });
  pump_streams();
  OperationQueue due;
  due.swap(deferred_);
  while (!due.empty()) {
    Operation& operation = due.front();
    due.pop_front();
    if (operation.patience > 0) {
      --operation.patience;
      deferred_.push_back(operation);
      continue;
    }
    finish(operation, operation.status, std::move(operation.detail));
  }
  if (!mismatches_.empty()) expire_mismatches();
  if (!waiting_active_.empty()) start_waiting_active();
  if (notified_.exchange(false, std::memory_order_acquire)) {
    std::vector<std::pair<Rank, std::string>> failures;
    {
      const std::lock_guard guard(notify_mutex_);
      failures.swap(notifications_);
    }
    for (const auto& [rank_in_job, reason] : failures)
      on_lost(rank_in_job, ErrorCode::peer_failed, fmt::format("{}: {}", name_of(rank_in_job), reason),
              LossSeenBy::others);
    if (report_requested_.exchange(false)) services_.log.write(LogLevel::error, describe_all());
  }
  busy_ =
      !blocked_.empty() || !streams_.empty() || !deferred_.empty() || !mismatches_.empty() || !waiting_active_.empty();
}

void Worker::handle_early(Peer& from) {
  while (!from.early.empty()) {
    const std::vector<std::byte> message = std::move(from.early.front());
    from.early.pop_front();
    handle_message(from, message);
  }
}

}  // namespace godwit::core
