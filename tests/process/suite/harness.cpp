#include "harness.hpp"

#include <algorithm>
#include <cstring>

namespace suite {
namespace {

constexpr std::byte guard_byte{0xC5};

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 31)) * 0x9E3779B97F4A7C15ULL;
  return x ^ (x >> 29);
}

std::byte byte_at(std::uint64_t seed, std::size_t index) {
  return std::byte(static_cast<unsigned char>(mix(seed * 1000003 + index / 8 + 1) >> (index % 8 * 8)));
}

}  // namespace

void fill(std::span<std::byte> data, std::uint64_t seed) {
  std::size_t i = 0;
  for (; i + 8 <= data.size(); i += 8) {
    const std::uint64_t word = mix(seed * 1000003 + i / 8 + 1);
    std::memcpy(data.data() + i, &word, 8);
  }
  for (; i < data.size(); ++i) data[i] = byte_at(seed, i);
}

std::vector<std::byte> pattern(std::size_t bytes, std::uint64_t seed) {
  std::vector<std::byte> data(bytes);
  fill(data, seed);
  return data;
}

std::optional<std::size_t> first_wrong(std::span<const std::byte> data, std::uint64_t seed) {
  std::size_t i = 0;
  for (; i + 8 <= data.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data.data() + i, 8);
    if (word != mix(seed * 1000003 + i / 8 + 1)) break;
  }
  for (; i < data.size(); ++i)
    if (data[i] != byte_at(seed, i)) return i;
  return std::nullopt;
}

std::vector<std::size_t> interesting_sizes(std::size_t limit) {
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = 0; bytes <= std::min<std::size_t>(limit, 130); ++bytes) sizes.push_back(bytes);
  for (std::size_t power = 256; power <= limit; power *= 2)
    for (std::size_t bytes : {power - 1, power, power + 1, power + power / 2})
      if (bytes <= limit + 1) sizes.push_back(bytes);
  return sizes;
}

godwit::ErrorCode error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const godwit::Error& error) {
    return error.code();
  }
  return godwit::ErrorCode::ok;
}

void expect_usable(godwit::Communicator comm, std::size_t bytes) {
  const int next = (comm.rank() + 1) % comm.size();
  const int previous = (comm.rank() + comm.size() - 1) % comm.size();
  std::vector<std::byte> in(bytes);
  godwit::Request receive = comm.irecv(in, previous, 4711);
  Outgoing send(comm, bytes, 0, next, 4711);
  send.wait();
  EXPECT_EQ(receive.wait().size, bytes);
  EXPECT_EQ(first_wrong(in, 0), std::nullopt);
}

Guarded::Guarded(std::size_t bytes, std::size_t misalign)
    : bytes_(bytes), misalign_(misalign), storage_(guard + misalign + bytes + guard, guard_byte) {}

bool Guarded::intact() const {
  const auto is_guard = [](std::byte b) { return b == guard_byte; };
  const auto end = storage_.begin() + static_cast<std::ptrdiff_t>(guard + misalign_);
  return std::all_of(storage_.begin(), end, is_guard) &&
         std::all_of(end + static_cast<std::ptrdiff_t>(bytes_), storage_.end(), is_guard);
}

}  // namespace suite
