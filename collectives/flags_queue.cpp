// Calls by flags that take longer: those of the setup, those that wait behind others, those whose partners are late,
// asleep, gone, or in another call.
#include "collectives/flags.hpp"

#include "core/fence.hpp"

#include <fmt/format.h>

#include <utility>

namespace godwit::collectives {

namespace {

// After this long a wait connects to those it waits for.
constexpr std::int64_t connect_after_ms = 200;

}  // namespace

core::Operation& Flags::enqueue(const CollectiveCall& call, const Shape& shape, std::uint64_t sequence) {
  Entry& entry = queue_.emplace_back();
  entry.call = call;
  entry.shape = shape;
  entry.sequence = sequence;
  core::Operation& operation = worker_.new_operation(core::Operation::Kind::collective, &group_);
  operation.context = group_.context + 1;
  operation.tag = static_cast<Tag>(sequence);
  operation.signature = shape.signature;
  operation.state = core::Operation::State::moving;
  operation.size = shape.bytes;
  operation.in_flight = 1;  // when the communicator is aborted, it waits for end()
  entry.operation = &operation;
  entry.looked_ms = operation.since_ms;
  if (queue_.size() == 1) worker_.add_poller(*this);
  return operation;
}

void Flags::begin_setup(const CollectiveCall& call, const Shape& shape) {
  auto setup = std::make_unique<FlagSetup>(worker_, group_, schedules_);
  const std::uint64_t sequence = group_.collective_sequence;
  core::Operation* const scheduled = schedules_.run(call, {});
  stage_ = Stage::setting_up;
  setup_ = std::move(setup);
  enqueue(call, shape, sequence);
  queue_.back().by_schedule = true;
  queue_.back().scheduled = scheduled;
  setup_->start();
}

// --- progress ---------------------------------------------------------------------------------------------------

bool Flags::poll() {
  if (in_call_ || (stage_ == Stage::setting_up && !set_up())) return false;
  bool happened = false;
  while (!queue_.empty() && step(queue_.front())) {
    queue_.pop_front();
    happened = true;
  }
  if (queue_.empty()) {
    worker_.remove_poller(*this);
    schedules_.flags_idle();
  }
  return happened;
}

// True: it is over.
bool Flags::set_up() {
  if (!setup_->advance()) return false;
  const std::unique_ptr<FlagSetup> setup = std::move(setup_);
  stage_ = setup->agreed() ? Stage::ready : Stage::off;
  if (setup->agreed()) {
    page_ = setup->page();
    fences_ = setup->needs_fences();
  } else {
    for (Entry& entry : queue_) {
      if (entry.by_schedule) continue;
      entry.by_schedule = true;
      if (!group_.broken) entry.scheduled = schedules_.run(entry.call, entry.sequence);
    }
  }
  worker_.services().log.debug(
      "communicator {}: small collectives by {}", group_.context / 2,
      stage_ == Stage::ready ? "flags in a shared page" : "schedules: no page is shared by all");
  return true;
}

// True: the entry has ended.
bool Flags::step(Entry& entry) {
  if (entry.by_schedule && entry.scheduled != nullptr && !entry.scheduled->done()) return false;
  if (group_.broken || entry.operation->failing || entry.by_schedule) {
    end(entry);
    return true;
  }
  if (!entry.published) {
    publish(entry.call, entry.shape, entry.sequence);
    entry.published = true;
  }
  if (!all_here()) {
    look_closer(entry);
    if (!group_.broken) return false;
  } else {
    take(entry.call, entry.shape);
  }
  end(entry);
  return true;
}

// With the outcome of its schedule, or the communicator's error if there is one.
void Flags::end(Entry& entry) {
  core::Operation& operation = *entry.operation;
  Status status;
  if (core::Operation* const scheduled = std::exchange(entry.scheduled, nullptr)) {
    status = Status(scheduled->status, std::move(scheduled->detail));
    worker_.release(*scheduled);
  } else if (operation.failing) {
    status = Status(operation.status, std::move(operation.detail));
  } else if (group_.broken) {
    status = group_.error;
  }
  operation.in_flight = 0;
  operation.failing = false;
  worker_.complete(operation, status.code(), status.message());
}

// --- partners that are late ---------------------------------------------------------------------------------------

void Flags::look_closer(Entry& entry) {
  look_for_mismatch(entry, seen_);
  const std::int64_t now = worker_.services().clock.now_ms();
  if (now == entry.looked_ms) return;
  entry.looked_ms = now;
  const bool connect = now - entry.operation->since_ms >= connect_after_ms;
  for (Rank rank = seen_; rank < group_.size() && !group_.broken; ++rank) {
    if (look_for_mismatch(entry, rank)) return;
    look_for_loss(entry, rank, connect);
  }
}

// The rank has stored another header in this turn, or is in another call that goes by a schedule.
bool Flags::look_for_mismatch(const Entry& entry, Rank rank) {
  const std::uint64_t header = FlagPage::load(page_.slot(rank, turn_).header);
  if (header == header_) return false;
  if (!FlagPage::same_turn(header, header_) &&
      FlagPage::load(page_.scheduled(rank, entry.sequence)) != entry.sequence + 1)
    return false;
  worker_.mismatch(group_, group_.to_world(rank), entry.sequence);
  return true;
}

// Connecting shows whether a rank lives that we never talked to.
void Flags::look_for_loss(const Entry& entry, Rank rank, bool connect) {
  const Rank in_job = group_.to_world(rank);
  if (in_job == worker_.rank()) return;
  const core::Peer* const peer = connect ? &worker_.peer(in_job) : worker_.find_peer(in_job);
  if (peer == nullptr || peer->state != core::Peer::State::lost) return;
  if (FlagPage::load(page_.slot(rank, turn_).header) == header_) return;  // the last that it did
  const ErrorCode code = peer->lost_status == ErrorCode::ok ? ErrorCode::peer_failed : peer->lost_status;
  worker_.abort_group(
      group_, code,
      fmt::format("collective #{} of communicator {}, {} on {} ranks, flags: {}", entry.sequence, group_.context / 2,
                  core::describe(entry.call), group_.size(), worker_.lost_words(*peer)));
}

bool Flags::arm() noexcept {
  if (queue_.empty() || !queue_.front().published) return true;  // what we wait for comes as a message
  std::atomic_ref(page_.slot(group_.rank, turn_).asleep).store(turn_, std::memory_order_relaxed);
  if (fences_)
    core::full_fence();
  else
    core::fence_everywhere();
  return !all_here();
}

std::string Flags::words(const core::Operation& operation) const {
  constexpr std::size_t most_names = 8;
  for (const Entry& entry : queue_) {
    if (entry.operation != &operation) continue;
    if (stage_ == Stage::setting_up) return ", waits until all ranks have agreed on a shared page";
    if (!entry.published) return entry.by_schedule ? ", by a schedule" : ", waits for earlier collectives";
    std::string text = ", waits for the flag of ";
    std::size_t missing = 0;
    for (Rank rank = 0; rank < group_.size(); ++rank) {
      if (FlagPage::load(page_.slot(rank, turn_).header) == header_ || ++missing > most_names) continue;
      text += fmt::format("{}{}", missing == 1 ? "" : ", ", worker_.name_of(group_.to_world(rank)));
    }
    return missing <= most_names ? text : text + fmt::format(" and {} more", missing - most_names);
  }
  return {};
}

void Flags::stop() noexcept {
  for (Entry& entry : queue_)
    if (entry.scheduled != nullptr) worker_.abandon(*entry.scheduled);
  queue_.clear();
  setup_.reset();
  stage_ = Stage::off;
  schedules_.flags_idle();
}

}  // namespace godwit::collectives
