// A ring in plain memory of this process, with both of its ends.
#pragma once

#include "shm/ring.hpp"

#include <cstddef>
#include <memory>

namespace godwit::micro {

struct MemoryRing {
  explicit MemoryRing(std::size_t bytes)
      : lines(new Line[bytes / sizeof(Line)]()), writer(place(bytes)), reader(place(bytes)) {}
  shm::RingPlace place(std::size_t bytes) {
    return {reinterpret_cast<std::byte*>(lines.get()), bytes, &cursor.consumed};
  }

  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::unique_ptr<Line[]> lines;
  shm::ReadCursor cursor;
  shm::RingWriter writer;
  shm::RingReader reader;
};

}  // namespace godwit::micro
