#include "shm/remote_memory.hpp"

#include "core/atomic_word.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace godwit::shm {

using core::Op;
using core::WorkRequest;

namespace {

bool is_atomic(Op op) noexcept { return op == Op::fetch_add || op == Op::compare_swap; }

RemoteMemory::Outcome fail(Status& failure, ErrorCode code, std::string words) {
  failure = Status(code, std::move(words));
  return RemoteMemory::Outcome::failed;
}

}  // namespace

RemoteMemory::Segment* RemoteMemory::find(std::uint64_t id) noexcept {
  const auto found = std::find_if(segments_.begin(), segments_.end(), [id](const auto& s) { return s.id == id; });
  return found == segments_.end() ? nullptr : &*found;
}

std::optional<std::uint64_t> RemoteMemory::import(const core::PackedKey& packed,
                                                  std::optional<std::uint64_t>& request) {
  const Key key = Key::unpack(packed);
  if (key.kind == KeyKind::private_memory)
    return cma_.works() ? std::optional<std::uint64_t>(private_handle) : std::nullopt;
  if (key.kind != KeyKind::segment) return std::nullopt;
  Segment* segment = find(key.segment);
  if (segment == nullptr) {
    request = key.segment;
    segment = &segments_.emplace_back(Segment{key.segment, key.base, key.size, State::requested, {}, {}});
  }
  if ((segment->state == State::refused || segment->state == State::gone) && !cma_.works()) return std::nullopt;
  return static_cast<std::uint64_t>(segment - segments_.data()) * 2;
}

void RemoteMemory::mapped(std::uint64_t id, core::SharedMemory memory, std::string error) {
  Segment* segment = find(id);
  if (segment == nullptr || segment->state != State::requested) return;
  const bool complete = memory && memory.size() >= segment->size;
  segment->state = complete ? State::mapped : State::refused;
  segment->error = complete || !error.empty() ? std::move(error) : "it is smaller than the peer's key says";
  if (complete) segment->memory = std::make_shared<core::SharedMemory>(std::move(memory));
}

void RemoteMemory::gone(std::uint64_t id) noexcept {
  Segment* segment = find(id);
  if (segment == nullptr) return;
  segment->state = State::gone;
  segment->memory.reset();
}

core::Mapping RemoteMemory::map(core::RemoteAddress remote, std::size_t bytes) const {
  const std::size_t index = remote.handle / 2;
  if (remote.handle == private_handle || index >= segments_.size()) return {};
  const Segment& segment = segments_[index];
  const std::uint64_t offset = remote.address - segment.base;
  if (offset > segment.size || bytes > segment.size - offset) return {};
  if (segment.state == State::requested) return {core::Mapping::State::later, {}};
  if (segment.state != State::mapped) return {};
  return {core::Mapping::State::mapped, {segment.memory, segment.memory->data() + offset}};
}

RemoteMemory::Outcome RemoteMemory::execute(const WorkRequest& request, Status& failure) {
  if (request.remote.handle == private_handle) return execute_private(request, failure);
  const std::size_t index = request.remote.handle / 2;
  if (index >= segments_.size()) return fail(failure, ErrorCode::invalid_argument, "unknown handle of remote memory");
  const Segment& segment = segments_[index];
  const std::uint64_t offset = request.remote.address - segment.base;
  const std::size_t bytes = is_atomic(request.op) ? sizeof(std::uint64_t) : request.local.size();
  if (offset > segment.size || bytes > segment.size - offset)
    return fail(failure, ErrorCode::invalid_argument,
                fmt::format("{} bytes at {:#x} of the peer are not inside of the segment of their key ({} bytes at "
                            "{:#x})",
                            bytes, request.remote.address, segment.size, segment.base));
  if (segment.state == State::mapped) [[likely]]
    return execute_mapped(request, segment.memory->data() + offset, failure);
  if (segment.state == State::gone)
    return fail(failure, ErrorCode::invalid_argument,
                fmt::format("the peer has given the memory at {:#x} back", request.remote.address));
  if (cma_.works() && !is_atomic(request.op)) return execute_private(request, failure);
  if (segment.state == State::requested) return Outcome::later;
  return fail(failure, ErrorCode::transport,
              fmt::format("cannot map the peer's memory at {:#x}: {}", request.remote.address, segment.error));
}

RemoteMemory::Outcome RemoteMemory::execute_mapped(const WorkRequest& request, std::byte* target, Status& failure) {
  if (request.op == Op::put) {
    if (!request.local.empty()) std::memcpy(target, request.local.data(), request.local.size());
    return Outcome::done;
  }
  if (request.op == Op::get) {
    if (!request.local.empty()) std::memcpy(request.local.data(), target, request.local.size());
    return Outcome::done;
  }
  if (request.remote.address % sizeof(std::uint64_t) != 0)
    return fail(failure, ErrorCode::invalid_argument,
                fmt::format("atomic on the misaligned address {:#x}", request.remote.address));
  if (!request.local.empty() && request.local.size() != sizeof(std::uint64_t))
    return fail(failure, ErrorCode::invalid_argument,
                fmt::format("the result of an atomic has 8 bytes, not {}", request.local.size()));
  const std::uint64_t before = core::execute_atomic(request.op, target, request.operand, request.compare);
  if (!request.local.empty()) std::memcpy(request.local.data(), &before, sizeof(before));
  return Outcome::done;
}

RemoteMemory::Outcome RemoteMemory::execute_private(const WorkRequest& request, Status& failure) {
  if (is_atomic(request.op))
    return fail(failure, ErrorCode::not_supported,
                "no atomics on memory that was not made by godwit::allocate (see Endpoint::has_atomics)");
  if (!cma_.works())
    return fail(failure, ErrorCode::not_supported, "no cross-memory attach to this peer: " + cma_.reason());
  failure = request.op == Op::put ? cma_.write(request.local, request.remote.address)
                                  : cma_.read(request.local, request.remote.address);
  return failure.ok() ? Outcome::done : Outcome::failed;
}

}  // namespace godwit::shm
