#include "core/operation.hpp"

namespace godwit::core {

namespace {

// An id is (generation, index + 1): 0 is never one, and a released operation's id finds nothing.
constexpr std::uint64_t index_bits = 32;
constexpr std::uint64_t index_mask = (std::uint64_t{1} << index_bits) - 1;

}  // namespace

Operation& OperationPool::acquire(Operation::Kind kind) {
  if (free_.empty()) [[unlikely]] {
    auto& slab = slabs_.emplace_back(std::make_unique<Operation[]>(slab_size));
    free_.reserve(slabs_.size() * slab_size);
    const std::uint64_t first = (slabs_.size() - 1) * slab_size;
    for (std::size_t i = slab_size; i-- > 0;) {
      slab[i].id = first + i + 1;
      free_.push_back(&slab[i]);
    }
  }
  Operation& operation = *free_.back();
  free_.pop_back();
  operation.kind = kind;
  return operation;
}

void OperationPool::release(Operation& operation) noexcept {
  const OperationId next = operation.id + (std::uint64_t{1} << index_bits);
  operation.active_hook.unlink();
  operation.queue_hook.unlink();
  std::destroy_at(&operation);
  std::construct_at(&operation);
  operation.id = next;
  free_.push_back(&operation);
}

Operation* OperationPool::find(OperationId id) noexcept {
  const std::uint64_t index = (id & index_mask) - 1;
  if (index >= slabs_.size() * slab_size) return nullptr;
  Operation& operation = slabs_[index / slab_size][index % slab_size];
  return operation.id == id ? &operation : nullptr;
}

std::string_view to_string(Operation::Kind kind) noexcept {
  switch (kind) {
    case Operation::Kind::send: return "send";
    case Operation::Kind::recv: return "receive";
    case Operation::Kind::active: return "active message";
    case Operation::Kind::put: return "put";
    case Operation::Kind::get: return "get";
    case Operation::Kind::fetch_add: return "fetch_add";
    case Operation::Kind::compare_swap: return "compare_swap";
    case Operation::Kind::flush: return "flush";
    case Operation::Kind::stream: return "streamed data";
    case Operation::Kind::control: return "control message";
    case Operation::Kind::collective: return "collective";
  }
  return "operation";
}

}  // namespace godwit::core
