// Registered buffers of one size: adapters send from them and receive into them.
#pragma once

#include "verbs/domains.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace godwit::verbs {

struct Link;

struct Buffer {
  std::byte* data = nullptr;
  Keys lkey;
};

/// Grows by chunks, never shrinks. Threads: one at a time.
class BufferPool {
 public:
  /// Nothing is allocated yet.
  BufferPool(Domains domains, std::size_t buffer_bytes, int access = IBV_ACCESS_LOCAL_WRITE);
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  std::size_t buffer_bytes() const noexcept { return buffer_bytes_; }
  std::size_t count() const noexcept { return count_; }
  std::size_t in_use() const noexcept { return count_ - free_.size(); }
  /// `count` more buffers, free. Throws Error(no_memory).
  void grow(std::size_t count);
  /// nullptr: all are in use.
  Buffer* take() noexcept {
    if (free_.empty()) return nullptr;
    Buffer* taken = free_.back();
    free_.pop_back();
    return taken;
  }
  void give(Buffer* buffer) noexcept { free_.push_back(buffer); }

 private:
  struct Chunk {
    std::unique_ptr<std::byte[], void (*)(std::byte*)> memory;
    Pinned pinned;
  };

  Domains domains_;
  const std::size_t buffer_bytes_;
  const int access_;
  std::vector<Chunk> chunks_;
  std::deque<Buffer> buffers_;
  std::size_t count_ = 0;      // of them
  std::vector<Buffer*> free_;  // has room for all
};

}  // namespace godwit::verbs
