// A peer's memory: segments that we map, and private memory by cross-memory attach. Executes put, get and atomics at
// once. Threads: the worker's.
#pragma once

#include "core/shared_memory.hpp"
#include "core/transport.hpp"
#include "shm/cma.hpp"
#include "shm/key.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace godwit::shm {

class RemoteMemory {
 public:
  /// Outcome of one work request: executed, not possible before a segment has been mapped, or failed.
  enum class Outcome : std::uint8_t { done, later, failed };

  void set_cma(Cma cma) { cma_ = std::move(cma); }
  const Cma& cma() const noexcept { return cma_; }

  /// Handle for a key; `request` is set to a segment that has to be asked for. Nothing: out of reach.
  std::optional<std::uint64_t> import(const core::PackedKey& packed, std::optional<std::uint64_t>& request);
  void mapped(std::uint64_t segment, core::SharedMemory memory, std::string error);
  void gone(std::uint64_t segment) noexcept;

  /// Where that memory lies here; nullptr: it is not mapped (yet), or is not all inside of its segment.
  std::byte* mapped_at(core::RemoteAddress remote, std::size_t bytes) const noexcept {
    const std::size_t index = remote.handle / 2;
    if (remote.handle == private_handle || index >= segments_.size()) return nullptr;
    const Segment& segment = segments_[index];
    const std::uint64_t offset = remote.address - segment.base;
    if (segment.state != State::mapped || offset > segment.size || bytes > segment.size - offset) return nullptr;
    return segment.memory->data() + offset;
  }
  core::Mapping map(core::RemoteAddress remote, std::size_t bytes) const;

  /// put, get, fetch_add, compare_swap. `failure` is set when it fails.
  Outcome execute(const core::WorkRequest& request, Status& failure);

 private:
  enum class State : std::uint8_t { requested, mapped, refused, gone };
  struct Segment {
    std::uint64_t id = 0;
    std::uint64_t base = 0;  // at the owner
    std::uint64_t size = 0;
    State state = State::requested;
    std::shared_ptr<core::SharedMemory> memory;  // shared with those who have asked for a mapping
    std::string error;
  };

  Segment* find(std::uint64_t id) noexcept;
  Outcome execute_mapped(const core::WorkRequest& request, std::byte* target, Status& failure);
  Outcome execute_private(const core::WorkRequest& request, Status& failure);

  Cma cma_;
  std::vector<Segment> segments_;  // index = handle / 2
};

}  // namespace godwit::shm
