// Buffers of a benchmark, shared with local peers from the start.
#pragma once

#include <godwit/memory.hpp>

#include <cstddef>
#include <memory>

namespace godwit::apps {

struct Deallocate {
  void operator()(std::byte* pointer) const noexcept { deallocate(pointer); }
};
using Buffer = std::unique_ptr<std::byte[], Deallocate>;

inline Buffer make_buffer(std::size_t bytes) { return Buffer(static_cast<std::byte*>(allocate(bytes))); }

}  // namespace godwit::apps
