// The shared-memory segments behind godwit::allocate: which segment an address belongs to, and its file, so that
// a transport can hand it to peers. One registry per process, because memory is per process.
// Threads: any.
#pragma once

#include "core/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace godwit::core::segments {

/// A segment of this process. Identifiers are never used again.
struct Segment {
  std::uint64_t id = 0;
  std::byte* base = nullptr;
  std::size_t size = 0;
};

/// Zeroed memory in a segment of its own: peers that have mapped it keep what is in it when it is given back, by
/// godwit::deallocate(). Throws Error(no_memory).
std::byte* allocate_alone(std::size_t bytes);
/// Everybody who needs such memory has mapped it: its descriptor is no longer needed.
void close_file(std::byte* memory) noexcept;
/// The segment that contains all of `memory`, if any.
std::optional<Segment> find(std::span<const std::byte> memory) noexcept;
/// A new descriptor of the segment's file; empty if there is no such segment (any more) or no descriptor left.
UniqueFd open(std::uint64_t id) noexcept;
/// Size in bytes, 0 if there is no such segment (any more).
std::size_t size_of(std::uint64_t id) noexcept;
/// Calls `listener` with the identifier of every segment that is given back, on the thread that does so, until
/// the token is destroyed, which waits for a call under way: never drop it in `listener`.
std::shared_ptr<void> on_release(std::function<void(std::uint64_t)> listener);

}  // namespace godwit::core::segments
