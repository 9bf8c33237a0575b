// Tagged messages, probes, active messages and collectives of a communicator: argument checks, then the engine.
#include <godwit/communicator.hpp>

#include <fmt/format.h>

#include <cstddef>

#include "runtime/communicator_state.hpp"
#include "runtime/context_state.hpp"

namespace godwit {

namespace runtime {

void throw_no_rank(const core::Group& group, Rank rank, const char* call) {
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("{}: there is no rank {} in this communicator, it has ranks 0..{}", call, rank, group.size() - 1));
}

void check_tag(Tag tag, const char* call, bool wildcard) {
  if (tag >= 0 || (wildcard && tag == any_tag)) return;
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: tag {} is negative; tags are 0..2^63-1", call, tag));
}

void throw_no_buffer(const void* data, std::size_t bytes, const char* call) {
  if (data == nullptr)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: the buffer is null, but {} bytes are to be moved", call, bytes));
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: a length of {} bytes is impossible; was a negative number converted?", call, bytes));
}

void throw_broken(const core::Group& group) { throw Error(group.error); }

void MemberWatch::look() {
  constexpr std::int64_t period_ms = 200;
  const std::int64_t now = worker_.services().clock.now_ms();
  if (now - looked_ms_ < period_ms) return;
  looked_ms_ = now;
  worker_.check_members(group_);
}

void throw_empty() {
  throw Error(ErrorCode::invalid_argument,
              "this communicator is empty: split() left this rank out, or it was never made");
}

}  // namespace runtime

namespace detail {

namespace {

core::Group& add_locked(core::Worker& worker, core::Group&& members) {
  const auto held = worker.lock();
  return worker.add_group(std::move(members));
}

}  // namespace

CommunicatorState::CommunicatorState(ContextState& owner, std::shared_ptr<ContextState> keep_alive, core::Group members)
    : context(owner),
      keep(std::move(keep_alive)),
      worker(*owner.worker),
      group(add_locked(worker, std::move(members))) {
  const auto held = worker.lock();
  collectives = std::make_unique<collectives::CollectiveContext>(worker, group);
}

CommunicatorState::~CommunicatorState() {
  const auto held = worker.lock();
  collectives.reset();
  worker.remove_group(group);
}

void check_length(Collective collective, std::string_view which, std::size_t have, std::size_t ranks,
                  std::size_t per_rank) {
  if (have >= ranks * per_rank) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: the {} buffer holds {} elements, but {} ranks x {} elements are to be moved",
                          to_string(collective), which, have, ranks, per_rank));
}

void check_blocks(Collective collective, std::string_view which, std::size_t have, const BlockLengths& blocks) {
  std::size_t next = 0, end = 0;
  for (std::size_t i = 0; i < blocks.counts.size(); ++i) {
    if (i < blocks.offsets.size()) next = blocks.offsets[i];
    next += blocks.counts[i];
    end = std::max(end, next);
  }
  if (have >= end) return;
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: the {} buffer holds {} elements, but its blocks end at {}",
                                                       to_string(collective), which, have, end));
}

void check_divides(Collective collective, std::size_t elements, std::size_t ranks) {
  if (elements % ranks == 0) return;
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: {} elements cannot be cut into equal blocks for {} ranks",
                                                       to_string(collective), elements, ranks));
}

}  // namespace detail

using detail::CommunicatorState;
using runtime::state_of;

namespace {

// One look at arguments as they should be; the words are for those that are not.
inline bool plausible(const core::Group& group, const void* data, std::size_t bytes, Rank peer, Tag tag) noexcept {
  return static_cast<std::uint32_t>(peer) < group.world.size() && tag >= 0 &&
         (data != nullptr ? static_cast<std::ptrdiff_t>(bytes) >= 0 : bytes == 0);
}

enum class Wildcards : bool { no, yes };

[[gnu::noinline]] void check_closely(const core::Group& group, const void* data, std::size_t bytes, Rank peer, Tag tag,
                                     const char* call, Wildcards wildcards) {
  runtime::check_rank(group, peer, call, wildcards == Wildcards::yes);
  runtime::check_tag(tag, call, wildcards == Wildcards::yes);
  runtime::check_buffer(data, bytes, call);
}

inline void check_send(const core::Group& group, const void* data, std::size_t bytes, Rank to, Tag tag,
                       const char* call) {
  if (!plausible(group, data, bytes, to, tag)) [[unlikely]]
    check_closely(group, data, bytes, to, tag, call, Wildcards::no);
}

inline void check_recv(const core::Group& group, const void* data, std::size_t bytes, Rank from, Tag tag,
                       const char* call) {
  if (!plausible(group, data, bytes, from, tag)) [[unlikely]]
    check_closely(group, data, bytes, from, tag, call, Wildcards::yes);
}

// Under the worker's lock, as start_recv().
core::Operation* start_send(CommunicatorState& self, const void* data, std::size_t bytes, Rank to, Tag tag,
                            bool synchronous) {
  runtime::check_usable(self.group);
  core::SendArguments arguments;
  arguments.group = &self.group;
  arguments.data = {static_cast<const std::byte*>(data), bytes};
  arguments.to = to;
  arguments.tag = tag;
  arguments.synchronous = synchronous;
  return self.worker.post_send(arguments);
}

core::Operation* start_recv(CommunicatorState& self, void* data, std::size_t bytes, Rank from, Tag tag) {
  runtime::check_usable(self.group);
  core::RecvArguments arguments;
  arguments.group = &self.group;
  arguments.data = {static_cast<std::byte*>(data), bytes};
  arguments.from = from;
  arguments.tag = tag;
  return self.worker.post_recv(arguments);
}

}  // namespace

void Communicator::flush(Rank to) {
  CommunicatorState& self = state_of(state_);
  runtime::check_rank(self.group, to, "flush");
  if (Status status = self.worker.flush(self.group.to_world(to)); !status.ok()) throw Error(status);
}

Rank Communicator::rank() const { return state_of(state_).group.rank; }
int Communicator::size() const { return state_of(state_).group.size(); }

// --- tagged ----------------------------------------------------------------------------------------------------

void Communicator::send_bytes(const void* data, std::size_t bytes, Rank to, Tag tag) {
  CommunicatorState& self = state_of(state_);
  check_send(self.group, data, bytes, to, tag, "send");
  auto held = self.worker.lock();
  if (core::Operation* operation = start_send(self, data, bytes, to, tag, false))
    runtime::wait_for(self.worker, *operation, held);
}

Request Communicator::isend_bytes(const void* data, std::size_t bytes, Rank to, Tag tag) {
  CommunicatorState& self = state_of(state_);
  check_send(self.group, data, bytes, to, tag, "isend");
  const auto held = self.worker.lock();
  return runtime::request_for(self.worker, start_send(self, data, bytes, to, tag, false));
}

Request Communicator::issend_bytes(const void* data, std::size_t bytes, Rank to, Tag tag) {
  CommunicatorState& self = state_of(state_);
  check_send(self.group, data, bytes, to, tag, "issend");
  const auto held = self.worker.lock();
  return runtime::request_for(self.worker, start_send(self, data, bytes, to, tag, true));
}

MessageInfo Communicator::recv_bytes(void* data, std::size_t bytes, Rank from, Tag tag) {
  CommunicatorState& self = state_of(state_);
  check_recv(self.group, data, bytes, from, tag, "recv");
  auto held = self.worker.lock();
  return runtime::wait_for(self.worker, *start_recv(self, data, bytes, from, tag), held);
}

Request Communicator::irecv_bytes(void* data, std::size_t bytes, Rank from, Tag tag) {
  CommunicatorState& self = state_of(state_);
  check_recv(self.group, data, bytes, from, tag, "irecv");
  const auto held = self.worker.lock();
  return Request(&self.worker, start_recv(self, data, bytes, from, tag));
}

// --- probes ----------------------------------------------------------------------------------------------------

std::optional<MessageInfo> Communicator::iprobe(Rank from, Tag tag) {
  CommunicatorState& self = state_of(state_);
  check_recv(self.group, nullptr, 0, from, tag, "probe");
  const auto held = self.worker.lock();
  runtime::check_usable(self.group);
  return self.worker.probe(self.group, from, tag);
}

std::optional<MatchedMessage> Communicator::improbe(Rank from, Tag tag) {
  CommunicatorState& self = state_of(state_);
  check_recv(self.group, nullptr, 0, from, tag, "mprobe");
  const auto held = self.worker.lock();
  runtime::check_usable(self.group);
  core::Operation* operation = self.worker.probe_matched(self.group, from, tag);
  if (operation == nullptr) return std::nullopt;
  return MatchedMessage(&self.worker, operation, operation->info);
}

namespace {

// Probes until `probe` finds something. A probe can no more wait for a dead rank than a receive can.
template <class Probe>
auto wait_for_message(CommunicatorState& self, Rank from, Tag tag, Probe probe) {
  decltype(probe()) found;
  runtime::MemberWatch watch(self.worker, self.group);
  self.worker.wait_until(
      [&] {
        found = probe();
        if (found) return true;
        runtime::check_usable(self.group);
        if (from == any_source)
          watch.look();
        else if (const core::Peer& source = self.worker.peer(self.group.to_world(from));
                 source.state == core::Peer::State::lost)
          throw Error(ErrorCode::peer_failed, fmt::format("probe: {}", self.worker.lost_words(source)));
        return false;
      },
      [&] { return fmt::format("probe from {} with tag {}, communicator {}", from, tag, self.group.context / 2); });
  return found;
}

}  // namespace

MessageInfo Communicator::probe(Rank from, Tag tag) {
  return *wait_for_message(state_of(state_), from, tag, [&] { return iprobe(from, tag); });
}

MatchedMessage Communicator::mprobe(Rank from, Tag tag) {
  return std::move(*wait_for_message(state_of(state_), from, tag, [&] { return improbe(from, tag); }));
}

MatchedMessage::MatchedMessage(MatchedMessage&& other) noexcept
    : worker_(std::exchange(other.worker_, nullptr)),
      operation_(std::exchange(other.operation_, nullptr)),
      info_(other.info_) {}

MatchedMessage& MatchedMessage::operator=(MatchedMessage&& other) noexcept {
  std::swap(worker_, other.worker_);
  std::swap(operation_, other.operation_);
  std::swap(info_, other.info_);
  return *this;
}

MatchedMessage::~MatchedMessage() {
  if (operation_ == nullptr) return;
  const auto held = worker_->lock();
  worker_->discard_matched(*operation_);
}

Request MatchedMessage::irecv_bytes(void* data, std::size_t bytes) {
  if (operation_ == nullptr) throw Error(ErrorCode::invalid_argument, "this matched message has been received already");
  runtime::check_buffer(data, bytes, "matched receive");
  core::Operation& operation = *std::exchange(operation_, nullptr);
  const auto held = worker_->lock();
  worker_->receive_matched(operation, {static_cast<std::byte*>(data), bytes});
  return Request(worker_, &operation);
}

// --- active messages -------------------------------------------------------------------------------------------

void Communicator::on_message(std::uint16_t id, ActiveMessageHandler handler) {
  CommunicatorState& self = state_of(state_);
  const auto held = self.worker.lock();
  self.worker.set_handler(self.group, id, std::move(handler));
}

Request Communicator::message_bytes(const void* data, std::size_t bytes, Rank to, std::uint16_t id) {
  CommunicatorState& self = state_of(state_);
  check_send(self.group, data, bytes, to, 0, "message");
  const auto held = self.worker.lock();
  runtime::check_usable(self.group);
  return runtime::request_for(
      self.worker, self.worker.post_active(self.group, {static_cast<const std::byte*>(data), bytes}, to, id));
}

// --- collectives -----------------------------------------------------------------------------------------------

Request Communicator::icollective(const CollectiveCall& call) {
  CommunicatorState& self = state_of(state_);
  const auto held = self.worker.lock();
  runtime::check_usable(self.group);
  return runtime::request_for(self.worker, collectives::start_collective(self.worker, *self.collectives, call));
}

Request Communicator::icollective(const UnevenCall& call) {
  CommunicatorState& self = state_of(state_);
  const auto held = self.worker.lock();
  runtime::check_usable(self.group);
  return runtime::request_for(self.worker, collectives::start_collective(self.worker, *self.collectives, call));
}

void Communicator::collective(const CollectiveCall& call) {
  CommunicatorState& self = state_of(state_);
  auto held = self.worker.lock();
  runtime::check_usable(self.group);
  if (core::Operation* operation = collectives::start_collective(self.worker, *self.collectives, call, true))
    runtime::wait_for(self.worker, *operation, held);
}

// --- health ----------------------------------------------------------------------------------------------------

std::vector<Rank> Communicator::failed() const {
  CommunicatorState& self = state_of(state_);
  const auto held = self.worker.lock();
  std::vector<Rank> ranks;
  for (Rank rank = 0; rank < self.group.size(); ++rank)
    if (self.worker.has_failed(self.group.to_world(rank))) ranks.push_back(rank);
  return ranks;
}

void Communicator::abort(std::string_view reason) {
  CommunicatorState& self = state_of(state_);
  const auto held = self.worker.lock();
  self.worker.abort_group(self.group, ErrorCode::aborted, std::string(reason));
}

}  // namespace godwit
