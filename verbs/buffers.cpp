#include "verbs/buffers.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <cstdlib>
#include <cstring>

namespace godwit::verbs {
namespace {

constexpr std::size_t page = 4096;

}  // namespace

BufferPool::BufferPool(Domains domains, std::size_t buffer_bytes, int access)
    : domains_(std::move(domains)), buffer_bytes_((buffer_bytes + 63) / 64 * 64), access_(access) {}

BufferPool::~BufferPool() {
  for (Chunk& chunk : chunks_)
    [[maybe_unused]] const int error = domains_.unpin(chunk.pinned);  // goes with its domain at the latest
}

void BufferPool::grow(std::size_t count) {
  const std::size_t bytes = (count * buffer_bytes_ + page - 1) / page * page;
  Chunk chunk{{static_cast<std::byte*>(std::aligned_alloc(page, bytes)), [](std::byte* memory) { std::free(memory); }},
              {}};
  if (!chunk.memory) throw Error(ErrorCode::no_memory, fmt::format("no memory for {} message buffers", count));
  chunks_.reserve(chunks_.size() + 1);
  const int error = domains_.pin({chunk.memory.get(), bytes}, access_, chunk.pinned);
  if (!chunk.pinned)
    throw Error(ErrorCode::no_memory,
                fmt::format("{} does not register {} bytes for message buffers: {}; `ulimit -l` must allow it "
                            "(\"unlimited\" in /etc/security/limits.conf, LimitMEMLOCK=infinity for services)",
                            domains_.names(), bytes, std::strerror(error)));
  chunks_.push_back(std::move(chunk));
  free_.reserve(buffers_.size() + count);
  for (std::size_t i = 0; i < count; ++i)
    free_.push_back(
        &buffers_.emplace_back(Buffer{chunks_.back().memory.get() + i * buffer_bytes_, chunks_.back().pinned.lkey}));
  count_ = buffers_.size();
}

}  // namespace godwit::verbs
