// Large gets that both sides of a link copy at the same time: the owner, who wants the data, reads, and the peer, if it
// is in the library, writes. Both claim chunks from a word in the link's shared page, so that each does what it has
// time for, and the owner does it all when the peer computes or sleeps.
//
// A chunk is claimed with a compare-and-swap that includes the transfer's number, so that a late look at a board entry
// that has been used again claims nothing. The owner ends a transfer when all claimed chunks are copied: nobody writes
// into its buffer after that.
//
// Threads: the worker's.
#pragma once

#include "core/transport.hpp"
#include "shm/cma.hpp"
#include "shm/layout.hpp"
#include "shm/remote_memory.hpp"

#include <boost/container/static_vector.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace godwit::shm {

class JointCopy {
 public:
  /// Gets of at least this many bytes are worth it (measured: docs/decisions/0008).
  static constexpr std::size_t smallest = 64 * 1024;
  using Finished = std::function<void(std::uint64_t cookie, const Status& outcome)>;

  /// `mine`: where this side offers its gets; `theirs`: where the peer does.
  void open(JointBoard& mine, JointBoard& theirs) noexcept;

  // --- the owner's side
  bool takes(const core::WorkRequest& request) const noexcept {
    return request.op == core::Op::get && request.signalled && request.local.size() >= smallest && mine_ != nullptr &&
           !alone_;
  }
  bool has_room() const noexcept { return active_.size() < active_.capacity(); }
  void start(const core::WorkRequest& request) noexcept;
  bool busy() const noexcept { return !active_.empty(); }
  /// Copies one chunk, then reports what is done, in order.
  void step(RemoteMemory& remote, const Finished& finished);
  /// The peer is gone: all end with `why`.
  void fail(const Status& why, const Finished& finished);
  /// Ends all without reporting, after the peer has finished the chunks that it has claimed.
  void withdraw() noexcept;

  // --- the peer's side
  bool wanted() const noexcept { return theirs_ != nullptr && posted(*theirs_) != helped_; }
  /// Copies one chunk, if one is left.
  void help(const Cma& cma) noexcept;

 private:
  struct Transfer {
    core::WorkRequest request;
    std::uint64_t number = 0;  // from 1
    std::size_t chunk = 0;     // bytes
    std::uint32_t chunks = 0;  // that will be copied
    Status failure;
  };

  static std::uint64_t posted(const JointBoard& board) noexcept;
  static JointOffer& offer(JointBoard& board, std::uint64_t number) noexcept;
  bool copy_next(Transfer& transfer, RemoteMemory& remote);
  void close(Transfer& transfer) noexcept;
  bool all_copied(const Transfer& transfer) noexcept;

  JointBoard* mine_ = nullptr;
  JointBoard* theirs_ = nullptr;
  boost::container::static_vector<Transfer, joint_offers> active_;
  std::uint64_t started_ = 0;
  std::uint64_t helped_ = 0;  // transfers of the peer that have no chunk left
  bool alone_ = false;        // the peer could not write: do not ask it again
};

}  // namespace godwit::shm
