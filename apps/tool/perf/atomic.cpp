// atomic_lat: fetch-and-add or compare-and-swap on a word of the target's window.
#include "runtime/inspect.hpp"
#include "tool/perf/exchange.hpp"

#include <cstring>

namespace godwit::apps {

namespace {

RegionOptions region_options(const Pair& pair) {
  if (pair.atomic.by) return {.atomics = pair.atomic.by};
  if (runtime::transport_name_to(pair.communicator, pair.other()) != "verbs") return {};
  return {.atomics = Atomics::adapter};
}

class AtomicExchange : public Exchange {
 public:
  explicit AtomicExchange(Pair& pair)
      : pair_(pair), window_(pair.communicator.window_bytes(pair.in.data(), pair.in.size(), region_options(pair))) {}

  void once(std::size_t width) override {
    if (!pair_.is_origin()) return;
    if (!pair_.atomic.swaps) {
      window_.fetch_add_bytes(1, &before_, width, 1, 0).wait();
      return;
    }
    window_.compare_swap_bytes(expected_, expected_ + 1, &before_, width, 1, 0).wait();
    expected_ = before_ + (before_ == expected_ ? 1 : 0);
  }
  bool round_trip() const noexcept override { return false; }
  std::string note() const override {
    return window_.atomics(1) == Atomics::adapter
               ? "atomics of 8 bytes: executed by the target's adapter (of 4 bytes: by its CPU)"
               : "atomics: executed by a CPU";
  }

  /// Wrong are all bytes of a word that does not hold the sum, and of a value before that is not the one before.
  std::size_t check(std::size_t width, std::uint64_t seed) override {
    constexpr std::uint64_t times = 10;
    const std::uint64_t start = seed & 0xffff;
    if (!pair_.is_origin()) std::memcpy(pair_.in.data(), &start, width);
    pair_.communicator.barrier();
    expected_ = start;
    std::size_t wrong = 0;
    if (pair_.is_origin())
      for (std::uint64_t i = 0; i < times; ++i) {
        once(width);
        if (before_ != start + i) wrong += width;
      }
    pair_.communicator.barrier();
    std::uint64_t after = 0;
    std::memcpy(&after, pair_.in.data(), width);
    if (!pair_.is_origin() && after != start + times) wrong += width;
    return wrong;
  }

 private:
  Pair& pair_;
  ByteWindow window_;
  std::uint64_t before_ = 0, expected_ = 0;
};

}  // namespace

std::unique_ptr<Exchange> make_atomic_exchange(Pair& pair) { return std::make_unique<AtomicExchange>(pair); }

}  // namespace godwit::apps
