#include "collectives/flags.hpp"

#include "collectives/reductions.hpp"
#include "core/fence.hpp"
#include "core/raised.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

namespace godwit::collectives {

namespace {

constexpr int calls_before_setup = 3;
// Looks of a blocking call before it becomes an operation: some 20 us.
constexpr std::uint32_t most_looks = 512;
constexpr std::uint32_t looks_per_pass = 32;
// The same where a look costs a turn of everybody on this CPU.
constexpr std::uint32_t most_yields = 32;
constexpr std::uint32_t yields_per_pass = 8;
// When all others are always there, nobody waits: the worker gets a pass nevertheless.
constexpr std::uint32_t turns_per_pass = 16;

// Most are one word.
inline void copy(void* to, const void* from, std::size_t bytes) noexcept {
  if (bytes == 8) [[likely]]
    std::memcpy(to, from, 8);
  else
    std::memcpy(to, from, bytes);
}

}  // namespace

bool Flags::Shape::fits(const CollectiveCall& call) const noexcept {
  if (signature == 0 || call.collective != collective || call.count != count || call.type != type) return false;
  if (collective == Collective::barrier) return true;
  if (collective != Collective::allreduce || call.op != op || call.send == nullptr || call.recv == nullptr)
    return false;
  if (call.send == call.recv) return true;
  const auto send = reinterpret_cast<std::uintptr_t>(call.send), recv = reinterpret_cast<std::uintptr_t>(call.recv);
  return send + bytes <= recv || recv + bytes <= send;
}

core::Operation* Flags::start(const CollectiveCall& call, const Problem& problem, bool wait) {
  Shape& shape = shapes_[shape_index(call.collective)];
  shape = {.collective = call.collective,
           .type = call.type,
           .op = call.op,
           .count = call.count,
           .bytes = contribution(problem),
           .signature = core::signature_of(call)};
  if (stage_ == Stage::ready) return run(call, shape, wait);
  if (stage_ == Stage::counting && ++calls_ < calls_before_setup) return schedules_.run(call, {});
  if (stage_ == Stage::counting)
    begin_setup(call, shape);
  else
    enqueue(call, shape, worker_.begin_collective(group_, call, shape.signature));
  return queue_.back().operation;
}

core::Operation* Flags::run(const CollectiveCall& call, const Shape& shape, bool wait) {
  const std::uint64_t sequence = worker_.begin_collective(group_, call, shape.signature);
  if (in_call_ || busy() || group_.broken) [[unlikely]]
    return &enqueue(call, shape, sequence);
  publish(call, shape, sequence);
  if (all_here() || (wait && spin())) [[likely]] {
    take(call, shape);
    return nullptr;
  }
  core::Operation& operation = enqueue(call, shape, sequence);
  queue_.back().published = true;
  return &operation;
}

void Flags::publish(const CollectiveCall& call, const Shape& shape, std::uint64_t sequence) {
  ++turn_;
  if (shape.bytes != 0) copy(page_.payload(group_.rank, turn_, shape.bytes), call.send, shape.bytes);
  header_ = FlagPage::header(turn_, sequence, shape.signature);
  FlagPage::store(page_.slot(group_.rank, turn_).header, header_);
  // Before we look who sleeps.
  if (fences_) [[unlikely]]
    core::full_fence();
  else
    std::atomic_signal_fence(std::memory_order_seq_cst);
  seen_ = 0;
}

bool Flags::all_here() noexcept {
  for (const int size = group_.size(); seen_ < size; ++seen_)
    if (FlagPage::load(page_.slot(seen_, turn_).header) != header_) return false;
  return true;
}

// The caller waits: it is there soon, or never mind. Where ranks share a CPU, the others need it.
bool Flags::spin() {
  const core::Raised spinning(in_call_);
  if (turn_ % turns_per_pass == 0) worker_.progress();
  const core::WaitLadder::Policy& policy = worker_.wait_policy();
  const std::uint32_t looks = std::min(policy.spins, most_looks);
  for (std::uint32_t look = 1; look <= looks; ++look) {
    core::relax();
    if (all_here()) return true;
    if (look % looks_per_pass == 0) worker_.progress();
  }
  const std::uint32_t yields = looks < most_looks ? std::min(policy.yields, most_yields) : 0;
  for (std::uint32_t yield = 1; yield <= yields && worker_.try_yield(); ++yield) {
    if (all_here()) return true;
    if (yield % yields_per_pass == 0) worker_.progress();
  }
  return false;
}

// Everybody's contribution is there.
void Flags::take(const CollectiveCall& call, const Shape& shape) {
  const int size = group_.size();
  const auto payload = [&](int rank) { return page_.payload(rank, turn_, shape.bytes); };
  if (shape.collective == Collective::allgather) {
    auto* out = static_cast<std::byte*>(call.recv);
    for (int rank = 0; rank < size && shape.bytes != 0; ++rank, out += shape.bytes)
      std::memcpy(out, payload(rank), shape.bytes);
  } else if (shape.collective == Collective::allreduce && shape.bytes != 0) {
    reduce(shape.type, shape.op, payload(0), payload(1), call.recv, shape.count);
    for (int rank = 2; rank < size; ++rank) reduce(shape.type, shape.op, payload(rank), call.recv, shape.count);
    if (shape.op == ReduceOp::avg) scale(shape.type, call.recv, shape.count, size);
  }
  wake_sleepers();
  core::expect_write(&page_.slot(group_.rank, turn_ + 1));
}

void Flags::wake_sleepers() {
  for (int rank = 0, size = group_.size(); rank < size; ++rank) {
    if (rank == group_.rank) continue;
    const std::uint32_t asleep = std::atomic_ref(page_.slot(rank, turn_).asleep).load(std::memory_order_relaxed);
    if (asleep == turn_) [[unlikely]]
      worker_.nudge(group_.to_world(rank));
  }
}

}  // namespace godwit::collectives
