#include "shm/joint_copy.hpp"

#include "core/wait_ladder.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>

namespace godwit::shm {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t largest_chunk = 256 * 1024;

// The claim word: number of the transfer (its low 32 bits) | chunks claimed by the peer (16 bits) | by the owner. The
// owner begins at the front and the peer at the end, so that of a buffer that is used again each side's cache holds its
// own part.
constexpr std::uint32_t nothing_left = 0xffffffffU;
constexpr std::uint64_t by_owner = 1, by_peer = std::uint64_t{1} << 16;
constexpr std::uint64_t claim_word(std::uint64_t number) noexcept { return number << 32; }
constexpr std::uint32_t owners(std::uint64_t claim) noexcept { return claim & 0xffffU; }
constexpr std::uint32_t peers(std::uint64_t claim) noexcept { return (claim >> 16) & 0xffffU; }
constexpr std::uint32_t claimed(std::uint64_t claim) noexcept { return owners(claim) + peers(claim); }
constexpr bool belongs(std::uint64_t claim, std::uint64_t number) noexcept {
  return claim >> 32 == (number & 0xffffffffU);
}

template <class T>
std::atomic_ref<T> shared(T& word) noexcept {
  return std::atomic_ref<T>(word);
}

// Two halves, so that with both sides at work each copies one; of large transfers smaller parts, so that who comes late
// still finds something to do.
std::size_t chunk_of(std::size_t bytes) noexcept {
  const std::size_t half = (bytes / 2 + page - 1) / page * page;
  return std::min(half, largest_chunk);
}

// One of the `chunks` that are not claimed, or nothing_left.
std::uint32_t claim_chunk(JointOffer& offer, std::uint64_t number, std::uint32_t chunks, std::uint64_t who) noexcept {
  std::uint64_t claim = shared(offer.claim).load(std::memory_order_acquire);
  while (belongs(claim, number) && claimed(claim) < chunks) {
    if (shared(offer.claim).compare_exchange_weak(claim, claim + who, std::memory_order_acq_rel))
      return who == by_owner ? owners(claim) : chunks - 1 - peers(claim);
  }
  return nothing_left;
}

Status copied(const core::WorkRequest& get, RemoteMemory& remote) {
  Status failure;
  if (remote.execute(get, failure) != RemoteMemory::Outcome::later) return failure;
  // A get of what cross-memory attach reaches, as only such are taken, waits for no mapping.
  return {ErrorCode::internal, "memory that was within reach is not any more"};
}

}  // namespace

std::uint64_t JointCopy::posted(const JointBoard& board) noexcept {
  return shared(const_cast<std::uint64_t&>(board.posted)).load(std::memory_order_acquire);
}

JointOffer& JointCopy::offer(JointBoard& board, std::uint64_t number) noexcept {
  return board.offers[number % joint_offers];
}

void JointCopy::open(JointBoard& mine, JointBoard& theirs) noexcept {
  mine_ = &mine;
  theirs_ = &theirs;
}

void JointCopy::start(const core::WorkRequest& request) noexcept {
  const std::size_t chunk = chunk_of(request.local.size());
  const auto chunks = static_cast<std::uint32_t>((request.local.size() + chunk - 1) / chunk);
  active_.push_back({request, ++started_, chunk, chunks, {}});
  JointOffer& entry = offer(*mine_, started_);
  shared(entry.owner_address).store(reinterpret_cast<std::uint64_t>(request.local.data()), std::memory_order_relaxed);
  shared(entry.peer_address).store(request.remote.address, std::memory_order_relaxed);
  shared(entry.bytes).store(request.local.size(), std::memory_order_relaxed);
  shared(entry.chunk).store(chunk, std::memory_order_relaxed);
  shared(entry.copied).store(0, std::memory_order_relaxed);
  shared(entry.peer_failed).store(0, std::memory_order_relaxed);
  shared(entry.claim).store(claim_word(started_), std::memory_order_release);
  shared(mine_->posted).store(started_, std::memory_order_release);
}

bool JointCopy::copy_next(Transfer& transfer, RemoteMemory& remote) {
  JointOffer& entry = offer(*mine_, transfer.number);
  const std::uint32_t index = claim_chunk(entry, transfer.number, transfer.chunks, by_owner);
  if (index == nothing_left) return false;
  core::WorkRequest part = transfer.request;
  const std::size_t from = index * transfer.chunk;
  part.local = transfer.request.local.subspan(from, std::min(transfer.chunk, transfer.request.local.size() - from));
  part.remote.address += from;
  transfer.failure = copied(part, remote);
  if (!transfer.failure.ok()) close(transfer);
  shared(entry.copied).fetch_add(1, std::memory_order_acq_rel);
  return true;
}

// No chunk is claimed any more.
void JointCopy::close(Transfer& transfer) noexcept {
  // A number that no transfer has: 0.
  const std::uint64_t before =
      shared(offer(*mine_, transfer.number).claim).exchange(claim_word(0), std::memory_order_acq_rel);
  if (belongs(before, transfer.number)) transfer.chunks = claimed(before);
}

bool JointCopy::all_copied(const Transfer& transfer) noexcept {
  return shared(offer(*mine_, transfer.number).copied).load(std::memory_order_acquire) >= transfer.chunks;
}

void JointCopy::step(RemoteMemory& remote, const Finished& finished) {
  for (Transfer& transfer : active_)
    if (copy_next(transfer, remote)) break;
  while (!active_.empty() && all_copied(active_.front())) {
    Transfer done = std::move(active_.front());
    active_.erase(active_.begin());
    if (shared(offer(*mine_, done.number).peer_failed).load(std::memory_order_relaxed) != 0 && done.failure.ok()) {
      alone_ = true;
      done.failure = copied(done.request, remote);
    }
    finished(done.request.cookie, done.failure);
  }
}

void JointCopy::fail(const Status& why, const Finished& finished) {
  withdraw();
  while (!active_.empty()) {
    const std::uint64_t cookie = active_.front().request.cookie;
    active_.erase(active_.begin());
    finished(cookie, why);
  }
}

void JointCopy::withdraw() noexcept {
  // Somebody who has claimed a chunk is in a system call that ends soon, or does not exist any more.
  constexpr auto patience = std::chrono::milliseconds(200);
  const auto end = std::chrono::steady_clock::now() + patience;
  for (Transfer& transfer : active_) {
    close(transfer);
    while (!all_copied(transfer) && std::chrono::steady_clock::now() < end) core::relax();
  }
}

void JointCopy::help(const Cma& cma) noexcept {
  while (helped_ != posted(*theirs_)) {
    const std::uint64_t number = helped_ + 1;
    JointOffer& entry = offer(*theirs_, number);
    const std::size_t bytes = shared(entry.bytes).load(std::memory_order_relaxed);
    const std::size_t chunk = shared(entry.chunk).load(std::memory_order_relaxed);
    const std::uint64_t to = shared(entry.owner_address).load(std::memory_order_relaxed);
    const std::uint64_t from = shared(entry.peer_address).load(std::memory_order_relaxed);
    // A claim proves that what we have read belongs to this transfer.
    const auto chunks = static_cast<std::uint32_t>(chunk == 0 ? 0 : (bytes + chunk - 1) / chunk);
    const std::uint32_t index = cma.works() ? claim_chunk(entry, number, chunks, by_peer) : nothing_left;
    if (index == nothing_left) {
      helped_ = number;
      continue;
    }
    const std::size_t offset = index * chunk;
    auto* data = reinterpret_cast<std::byte*>(from + offset);  // NOLINT: ours, named by the peer; the kernel checks it
    if (!cma.write({data, std::min(chunk, bytes - offset)}, to + offset).ok())
      shared(entry.peer_failed).store(1, std::memory_order_relaxed);
    shared(entry.copied).fetch_add(1, std::memory_order_acq_rel);
    return;
  }
}

}  // namespace godwit::shm
