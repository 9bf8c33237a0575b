#include "verbs/buffers.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace godwit::verbs {
namespace {

constexpr std::size_t page = 4096;

}  // namespace

BufferPool::BufferPool(Api& api, ibv_pd* domain, std::size_t buffer_bytes, int access)
    : api_(api), domain_(domain), buffer_bytes_((buffer_bytes + 63) / 64 * 64), access_(access) {}

void BufferPool::grow(std::size_t count) {
  const std::size_t bytes = (count * buffer_bytes_ + page - 1) / page * page;
  Chunk chunk{{static_cast<std::byte*>(std::aligned_alloc(page, bytes)), [](std::byte* memory) { std::free(memory); }},
              {}};
  if (!chunk.memory) throw Error(ErrorCode::no_memory, fmt::format("no memory for {} message buffers", count));
  chunk.region = {api_, api_.reg_mr(domain_, chunk.memory.get(), bytes, access_)};
  if (!chunk.region)
    throw Error(ErrorCode::no_memory,
                fmt::format("{} does not register {} bytes for message buffers: {}; `ulimit -l` must allow it "
                            "(\"unlimited\" in /etc/security/limits.conf, LimitMEMLOCK=infinity for services)",
                            api_.get_device_name(domain_->context->device), bytes, std::strerror(errno)));
  free_.reserve(buffers_.size() + count);
  for (std::size_t i = 0; i < count; ++i)
    free_.push_back(&buffers_.emplace_back(Buffer{chunk.memory.get() + i * buffer_bytes_, chunk.region->lkey}));
  count_ = buffers_.size();
  chunks_.push_back(std::move(chunk));
}

}  // namespace godwit::verbs
