// Memory that peers on the same host can map: put, get and large receives on it need no system call.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace godwit {

/// Returns `bytes` of zeroed memory aligned to 64 bytes. Throws Error(no_memory) that names the limit that
/// was hit. Thread-safe; not for hot paths. Allocation of 0 bytes gives a unique pointer.
void* allocate(std::size_t bytes);
/// Gives back what allocate() returned; nullptr is ignored.
void deallocate(void* pointer) noexcept;

/// Standard allocator over allocate().
template <class T>
struct Allocator {
  using value_type = T;
  Allocator() noexcept = default;
  template <class U>
  Allocator(const Allocator<U>&) noexcept {}  // NOLINT(google-explicit-constructor): allocators convert implicitly
  T* allocate(std::size_t n) {
    if (n > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(godwit::allocate(n * sizeof(T)));
  }
  void deallocate(T* pointer, std::size_t) noexcept { godwit::deallocate(pointer); }
  template <class U>
  bool operator==(const Allocator<U>&) const noexcept {
    return true;
  }
};

/// A std::vector whose elements live in shared memory.
template <class T>
using shared_vector = std::vector<T, Allocator<T>>;

}  // namespace godwit
