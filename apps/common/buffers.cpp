#include "common/buffers.hpp"

#include <godwit/memory.hpp>

#include <cstdlib>
#include <cstring>
#include <new>

namespace godwit::apps {

void Deallocate::operator()(std::byte* pointer) const noexcept {
  if (kind == MemoryKind::shared)
    deallocate(pointer);
  else
    std::free(pointer);
}

Buffer make_buffer(std::size_t bytes, MemoryKind kind) {
  if (kind == MemoryKind::shared) {
    Buffer buffer(static_cast<std::byte*>(allocate(bytes)), {kind});
    std::memset(buffer.get(), 0, bytes);  // zero already: this touches the pages
    return buffer;
  }
  constexpr std::size_t page = 4096;
  if (bytes > static_cast<std::size_t>(-1) - page) throw std::bad_alloc();
  const std::size_t whole_pages = (bytes / page + 1) * page;
  Buffer buffer(static_cast<std::byte*>(std::aligned_alloc(page, whole_pages)), {kind});
  if (!buffer) throw std::bad_alloc();
  std::memset(buffer.get(), 0, whole_pages);
  return buffer;
}

}  // namespace godwit::apps
