// Registered memory of a fabric, and requests that move it.
#include <fmt/format.h>

#include <cstring>

#include "core/atomic_word.hpp"
#include "core/messages.hpp"
#include "core/segments.hpp"
#include "core/shared_memory.hpp"
#include "fake/fake_transport.hpp"

namespace godwit::fake {

using core::Op;

namespace {

constexpr std::uint64_t key_magic = 0x59454b454b4146ULL;

struct Key {
  std::uint64_t magic = key_magic;
  std::uint64_t region = 0;
  std::int32_t owner = 0;
  std::uint32_t pad = 0;
};

}  // namespace

core::Registration Fabric::register_memory(Rank owner, std::span<std::byte> memory, MemoryKind kind) {
  const Guard guard(mutex_);
  if (kind == MemoryKind::device)
    throw Error(ErrorCode::not_supported, "the fake transport cannot reach device memory");
  if (refuse_registration_) throw Error(ErrorCode::no_memory, "the fake transport refuses to register memory");
  const Key key{.region = next_region_++, .owner = owner};
  regions_[key.region] = {owner, memory.data(), memory.size(), core::segments::find(memory).has_value()};
  core::Registration registration;
  registration.lkey.value = key.region;
  std::memcpy(registration.key.bytes.data(), &key, sizeof key);
  return registration;
}

void Fabric::deregister(const core::Registration& registration) noexcept {
  const Guard guard(mutex_);
  if (regions_.erase(registration.lkey.value) == 0) violations_.push_back("memory was deregistered twice");
}

std::optional<std::uint64_t> Fabric::import_key(Rank owner, const core::PackedKey& packed) const noexcept {
  const Guard guard(mutex_);
  Key key;
  std::memcpy(&key, packed.bytes.data(), sizeof key);
  const auto region = regions_.find(key.region);
  if (key.magic != key_magic || key.owner != owner || region == regions_.end()) return std::nullopt;
  if (!settings_.capabilities.rma || (!settings_.capabilities.private_rma && !region->second.shared))
    return std::nullopt;
  return key.region;
}

// A mapping of its own, as another process would have: it outlives the owner's.
core::Mapping Fabric::map(core::RemoteAddress remote, std::size_t bytes) const noexcept {
  const Guard guard(mutex_);
  const auto region = regions_.find(remote.handle);
  auto* const begin = reinterpret_cast<std::byte*>(remote.address);
  if (!settings_.maps || region == regions_.end() || begin < region->second.base ||
      begin + bytes > region->second.base + region->second.size)
    return {};
  const auto segment = core::segments::find({begin, bytes});
  if (!segment) return {};
  const auto memory = std::make_shared<core::SharedMemory>(
      core::SharedMemory::attach(core::segments::open(segment->id), segment->size, "fake"));
  return {core::Mapping::State::mapped, {memory, memory->data() + (begin - segment->base)}};
}

// Carries a put (of `data`), get or atomic out. Returns words when it cannot.
std::string Fabric::move_memory(const core::WorkRequest& request, std::span<const std::byte> data) {
  const auto found = regions_.find(request.remote.handle);
  if (found == regions_.end()) return "the remote memory is not registered (any more)";
  const Region& region = found->second;
  auto* remote = reinterpret_cast<std::byte*>(request.remote.address);
  const std::size_t size = request.local.size();
  if (remote < region.base || remote > region.base + region.size ||
      size > static_cast<std::size_t>(region.base + region.size - remote))
    return fmt::format("{} bytes reach beyond the registered memory of {} bytes", size, region.size);
  switch (request.op) {
    case Op::put:
      if (size > 0) std::memmove(remote, data.data(), size);
      break;
    case Op::get:
      if (size > 0) std::memmove(request.local.data(), remote, size);
      break;
    case Op::fetch_add:
    case Op::compare_swap: {
      const std::uint64_t before = core::execute_atomic(request.op, remote, request.operand, request.compare);
      std::memcpy(request.local.data(), &before, sizeof before);
      break;
    }
    case Op::send:
    case Op::flush: break;
  }
  return {};
}

// --- words -----------------------------------------------------------------------------------------------------

std::string_view to_string(core::MessageKind kind) noexcept {
  using Kind = core::MessageKind;
  switch (kind) {
    case Kind::eager: return "eager";
    case Kind::ready_to_send: return "ready_to_send";
    case Kind::clear_to_send: return "clear_to_send";
    case Kind::data: return "data";
    case Kind::finished: return "finished";
    case Kind::active: return "active";
    case Kind::credit: return "credit";
    case Kind::put_data: return "put_data";
    case Kind::put_end: return "put_end";
    case Kind::put_ack: return "put_ack";
    case Kind::get_request: return "get_request";
    case Kind::atomic_request: return "atomic_request";
    case Kind::atomic_reply: return "atomic_reply";
    case Kind::notify: return "notify";
    case Kind::abort: return "abort";
    case Kind::awaited: return "awaited";
  }
  return "unknown";
}

std::string to_string(const Record& record) {
  const core::WorkRequest& request = record.request;
  std::string text = fmt::format("{}>{} ", record.from, record.to);
  const std::string_view when = record.at_once ? " at once" : "";
  switch (request.op) {
    case Op::send: {
      const core::MessageKind kind = request.header.kind;
      text += to_string(kind);
      // The sizes of the other kinds follow from the kind.
      if (kind == core::MessageKind::eager || kind == core::MessageKind::data || kind == core::MessageKind::active ||
          kind == core::MessageKind::put_data)
        text += fmt::format(" {}", request.local.size());
      return text;
    }
    case Op::put: return text + fmt::format("put {}{}{}", request.local.size(), request.imm ? " notify" : "", when);
    case Op::get: return text + fmt::format("get {}{}", request.local.size(), when);
    case Op::fetch_add: return text + fmt::format("fetch_add{}", when);
    case Op::compare_swap: return text + fmt::format("compare_swap{}", when);
    case Op::flush: return text + "flush";
  }
  return text;
}

std::vector<std::string> Fabric::script() const {
  const Guard guard(mutex_);
  std::vector<std::string> lines;
  for (const Record& record : records_) lines.push_back(to_string(record));
  return lines;
}

}  // namespace godwit::fake
