// What a Communicator, a Region and a Window stand for.
#pragma once

#include <godwit/communicator.hpp>
#include <godwit/window.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "collectives/collective.hpp"
#include "core/worker.hpp"

namespace godwit::detail {

struct ContextState;

struct CommunicatorState {
  CommunicatorState(ContextState& owner, std::shared_ptr<ContextState> keep_alive, core::Group group);
  ~CommunicatorState();
  CommunicatorState(const CommunicatorState&) = delete;
  CommunicatorState& operator=(const CommunicatorState&) = delete;

  ContextState& context;
  const std::shared_ptr<ContextState> keep;  // empty for the world, which the context owns
  core::Worker& worker;
  core::Group& group;  // the worker's
  std::unique_ptr<collectives::CollectiveContext> collectives;
};

struct RegionState {
  RegionState(std::shared_ptr<CommunicatorState> owner, std::span<std::byte> memory, const RegionOptions& options);
  ~RegionState();
  RegionState(const RegionState&) = delete;
  RegionState& operator=(const RegionState&) = delete;

  const std::shared_ptr<CommunicatorState> communicator;
  core::RegionEntry* entry;
  RemoteKey key;
};

struct WindowState {
  std::unique_ptr<RegionState> region;
  std::vector<core::RemoteRegion> targets;  // by rank in the communicator
};

}  // namespace godwit::detail

namespace godwit::runtime {

/// Takes the outcome of a done operation and releases it. `info` may be null.
Status take_outcome(core::Worker& worker, core::Operation& operation, MessageInfo* info);
/// Waits under the lock that the caller holds, and releases the operation. Throws Error.
MessageInfo wait_for(core::Worker& worker, core::Operation& operation, core::Worker::Lock& held);
/// Request for what a post_*() returned.
inline Request request_for(core::Worker& worker, core::Operation* operation) {
  return operation == nullptr ? Request() : Request(&worker, operation);
}

[[noreturn]] void throw_no_rank(const core::Group& group, Rank rank, const char* call);
[[noreturn]] void throw_no_buffer(const void* data, std::size_t bytes, const char* call);
/// Throw Error(invalid_argument) in words; `call` is the user's call ("send").
inline void check_rank(const core::Group& group, Rank rank, const char* call, bool wildcard = false) {
  if ((rank < 0 || rank >= group.size()) && !(wildcard && rank == any_source)) [[unlikely]]
    throw_no_rank(group, rank, call);
}
void check_tag(Tag tag, const char* call, bool wildcard = false);
inline void check_buffer(const void* data, std::size_t bytes, const char* call) {
  if ((data == nullptr && bytes > 0) || bytes > static_cast<std::size_t>(PTRDIFF_MAX)) [[unlikely]]
    throw_no_buffer(data, bytes, call);
}
[[noreturn]] void throw_broken(const core::Group& group);
/// Throws the group's error if it is broken. Under the worker's lock.
inline void check_usable(const core::Group& group) {
  if (group.broken) [[unlikely]]
    throw_broken(group);
}
/// For waits that any member could end: looks now and then whether all of them live. Throws Error for one that does
/// not.
class MemberWatch {
 public:
  explicit MemberWatch(core::Worker& worker, const core::Group& group)
      : worker_(worker), group_(group), looked_ms_(worker.services().clock.now_ms()) {}
  void look();

 private:
  core::Worker& worker_;
  const core::Group& group_;
  std::int64_t looked_ms_;
};
[[noreturn]] void throw_empty();
/// Throws for an empty handle.
inline detail::CommunicatorState& state_of(const std::shared_ptr<detail::CommunicatorState>& state) {
  if (!state) [[unlikely]]
    throw_empty();
  return *state;
}

}  // namespace godwit::runtime
