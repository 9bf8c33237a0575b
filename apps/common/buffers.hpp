// Buffers of a benchmark: ordinary memory, or memory that local peers can map.
#pragma once

#include <godwit/types.hpp>

#include <cstddef>
#include <memory>

namespace godwit::apps {

struct Deallocate {
  MemoryKind kind = MemoryKind::shared;
  void operator()(std::byte* pointer) const noexcept;
};
using Buffer = std::unique_ptr<std::byte[], Deallocate>;

/// Zeroed, with every page touched. `shared`: from godwit::allocate. `host`: from malloc, aligned to pages, as most
/// programs have it. Throws Error(no_memory) or std::bad_alloc.
Buffer make_buffer(std::size_t bytes, MemoryKind kind = MemoryKind::shared);

}  // namespace godwit::apps
