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
  return bytes.value >= smallest_message && bytes.value <= largest_message ? "" : "a size from 256 to 1023K";
}

}  // namespace

ShmOptions::ShmOptions()
    : OptionGroup("shm"),
      ring(*this, "SHM_RING", core::Bytes{64 << 10},
           "shared memory per connected pair and direction; rounded up to a power of two that holds four messages",
           check_ring),
      message(*this, "SHM_MESSAGE", core::Bytes{8 << 10}, "largest payload of one message through the ring",
              check_message),
      cma(*this, "SHM_CMA", core::Choice{"auto", {"auto", "on", "off"}},
          "cross-memory attach (process_vm_readv) for put and get on private memory; auto: where a probe succeeds, "
          "on: with a warning where it does not") {}

}  // namespace godwit::shm
