#include "shm/options.hpp"

#include "shm/layout.hpp"

namespace godwit::shm {
namespace {

constexpr std::size_t smallest_ring = 4096;
constexpr std::size_t largest_ring = std::size_t{64} << 20;
constexpr std::size_t smallest_message = 256;
constexpr std::size_t largest_message = max_entry_bytes / 2;

std::string check_ring(const core::Bytes& bytes) {
  return bytes.value >= smallest_ring && bytes.value <= largest_ring ? "" : "a size from 4K to 64M";
}

std::string check_message(const core::Bytes& bytes) {
  const bool fits = bytes.value >= smallest_message && bytes.value <= largest_message;
  return bytes.value == 0 || fits ? "" : "0, or a size from 256 to 1023K";
}

}  // namespace

ShmOptions::ShmOptions()
    : OptionGroup("shm"),
      ring(*this, "SHM_RING", core::Bytes{64 << 10},
           "shared memory per connected pair and direction; rounded up to a power of two that holds four messages",
           check_ring),
      message(
          *this, "SHM_MESSAGE", core::Bytes{0},
          "largest payload of one message through the ring; 0: 8K, more where cross-memory attach is slow or refused",
          check_message),
      cma(*this, "SHM_CMA", core::Choice{"auto", {"auto", "on", "off"}},
          "cross-memory attach (process_vm_readv) for put and get on private memory; auto: where a probe succeeds, "
          "on: with a warning where it does not") {}

}  // namespace godwit::shm
