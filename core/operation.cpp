#include "core/operation.hpp"

namespace godwit::core {

void OperationPool::grow() {
  auto& slab = slabs_.emplace_back(std::make_unique<Operation[]>(slab_size));
  free_.resize(slabs_.size() * slab_size);
  const std::uint64_t first = (slabs_.size() - 1) * slab_size;
  for (std::size_t i = slab_size; i-- > 0;) {
    slab[i].id = first + i + 1;
    free_[free_count_++] = &slab[i];
  }
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
