// Memory that can be mapped by other processes, as a file without a name: nothing is left behind by a crash.
// All of it is committed when it is made, so that a lack of memory is an Error there and never a SIGBUS later.
// Threads: any; one object belongs to one owner.
#pragma once

#include "core/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace godwit::core {

/// Where the file comes from. If one is refused by the kernel (old, seccomp), the next is tried.
enum class SharedMemorySource : std::uint8_t {
  memfd,          // memfd_create(2)
  unnamed_file,   // O_TMPFILE in /dev/shm
  unlinked_file,  // mkstemp(3) in /dev/shm, unlinked at once
};

class SharedMemory {
 public:
  SharedMemory() noexcept = default;
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  /// Zeroed memory, rounded up to whole pages. `purpose` shows up in /proc/PID/maps and in messages.
  /// Throws Error(no_memory) that names the limit that was hit and how to raise it.
  static SharedMemory create(std::size_t bytes, const std::string& purpose,
                             SharedMemorySource first = SharedMemorySource::memfd);
  /// Maps the first `bytes` of a file that another process has made. Throws Error(no_memory), and
  /// Error(transport) when the file is shorter.
  static SharedMemory attach(UniqueFd file, std::size_t bytes, const std::string& purpose);

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  explicit operator bool() const noexcept { return data_ != nullptr; }
  /// For passing on to peers; -1 after close_file().
  int fd() const noexcept { return file_.get(); }
  /// The mapping stays.
  void close_file() noexcept { file_.reset(); }

 private:
  SharedMemory(UniqueFd file, std::size_t bytes, const std::string& purpose);

  UniqueFd file_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Empty if create() works here, else why not.
std::string shared_memory_unavailable_reason();

}  // namespace godwit::core
