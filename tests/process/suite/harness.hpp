// What the tests of the suite share: the context of this process and data that can be checked.
//
// Every rank runs the same tests in the same order; a test talks over the world communicator or over
// communicators that it makes. A failure on any rank ends the job (see main.cpp), so that no rank waits for it.
#pragma once

#include <godwit/godwit.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace suite {

/// A sanitizer makes everything slow, and keeps freed memory.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// What the command line asked for.
struct Settings {
  bool multiple = false;  // ThreadMode::multiple, and the tests of threads
  bool large = false;     // the tests that need 12 GiB of memory
};
const Settings& settings();
godwit::Context& context();
godwit::Communicator world();
inline int size() { return world().size(); }
inline int rank() { return world().rank(); }
/// Neighbours on the ring of all ranks; with one rank both are this rank.
inline int right() { return (rank() + 1) % size(); }
inline int left() { return (rank() + size() - 1) % size(); }

/// Bytes that depend on seed and position.
void fill(std::span<std::byte> data, std::uint64_t seed);
std::vector<std::byte> pattern(std::size_t bytes, std::uint64_t seed);
/// Index of the first byte that is not fill()'s, if any.
std::optional<std::size_t> first_wrong(std::span<const std::byte> data, std::uint64_t seed);

/// A message on its way together with the memory that it is sent from. Its destructor waits.
class Outgoing {
 public:
  Outgoing(godwit::Communicator comm, std::size_t bytes, std::uint64_t seed, godwit::Rank to, godwit::Tag tag)
      : data_(pattern(bytes, seed)), request_(comm.isend(data_, to, tag)) {}
  godwit::Status try_wait() { return request_.try_wait(); }
  void wait() { request_.wait(); }

 private:
  std::vector<std::byte> data_;
  godwit::Request request_;
};

/// 0..130, and around the powers of two up to `limit`: every protocol threshold is near one of them.
std::vector<std::size_t> interesting_sizes(std::size_t limit);

/// The code of the godwit::Error that `call` throws; ok if it throws none.
godwit::ErrorCode error_of(const std::function<void()>& call);

/// A message of `bytes` round the ring of `comm`, checked: the communicator works.
void expect_usable(godwit::Communicator comm, std::size_t bytes = 1000);

/// A buffer between two guard zones that nobody may touch.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes, std::size_t misalign = 0);
  std::span<std::byte> data() { return std::span(storage_).subspan(guard + misalign_, bytes_); }
  bool intact() const;

 private:
  static constexpr std::size_t guard = 64;
  std::size_t bytes_, misalign_;
  std::vector<std::byte> storage_;
};

}  // namespace suite
