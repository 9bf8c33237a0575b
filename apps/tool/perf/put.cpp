// put_lat, put_bw, put_watch_lat, write_lat, write_bw: puts into the other rank's window.
#include "tool/perf/exchange.hpp"

#include <atomic>
#include <cstring>
#include <thread>

namespace godwit::apps {

namespace {

constexpr std::uint16_t arrived = 0;  // notification counter

class PutExchange : public Exchange {
 public:
  explicit PutExchange(Pair& pair)
      : pair_(pair),
        window_(pair.communicator.window_bytes(pair.in.data(), pair.in.size())),
        out_(pair.communicator.region_bytes(pair.out.data(), pair.out.size())) {}

  void once(std::size_t bytes) override {
    if (!pair_.is_origin()) window_.wait_notify(arrived);
    Request put = window_.put_bytes(pair_.out.data(), bytes, pair_.other(), 0, {.notify = arrived});
    if (pair_.is_origin()) window_.wait_notify(arrived);
    put.wait();
  }
  bool round_trip() const noexcept override { return true; }

  Request begin(std::size_t bytes) final {
    has_begun_ = true;
    return window_.put_bytes(pair_.out.data(), bytes, pair_.other(), 0);
  }

  void window(std::size_t bytes, int depth) override {
    if (!pair_.is_origin()) return;
    requests_.clear();
    for (int i = 0; i < depth; ++i) requests_.push_back(window_.put_bytes(pair_.out.data(), bytes, 1, 0));
    wait_all(requests_);
  }
  void finish() override {
    if (pair_.is_origin() || has_begun_) window_.flush(pair_.other());
  }

  std::size_t check(std::size_t bytes, std::uint64_t seed) override {
    check_data(seed, pair_.communicator.rank()).fill(pair_.out.data(), bytes);
    Request put = window_.put_bytes(pair_.out.data(), bytes, pair_.other(), 0, {.notify = arrived});
    window_.wait_notify(arrived);
    put.wait();
    const std::size_t wrong = check_data(seed, pair_.other()).count_wrong(pair_.in.data(), bytes);
    pair_.communicator.barrier();  // the next put of the peer must not come before this check
    return wrong;
  }

 protected:
  Pair& pair_;
  ByteWindow window_;

 private:
  Region out_;  // registered once, as perftest's buffers are
  std::vector<Request> requests_;
  bool has_begun_ = false;
};

// Without notification: the last word of what is put counts the turns, and the target watches it.
template <class Word>
class WatchedPutExchange final : public PutExchange {
 public:
  using PutExchange::PutExchange;

  /// What lies there by chance must not look like the next turn.
  void prepare(std::size_t bytes) override { std::memcpy(last_word(pair_.in, bytes), &turn_, sizeof(turn_)); }

  void once(std::size_t bytes) override {
    ++turn_;
    if (!pair_.is_origin()) watch(bytes);
    std::memcpy(last_word(pair_.out, bytes), &turn_, sizeof(turn_));
    Request put = window_.put_bytes(pair_.out.data(), bytes, pair_.other(), 0);
    if (pair_.is_origin()) watch(bytes);
    put.wait();
  }

 private:
  static std::byte* last_word(std::span<std::byte> buffer, std::size_t bytes) {
    return buffer.data() + bytes - sizeof(Word);
  }

  void watch(std::size_t bytes) {
    const std::atomic_ref word(*reinterpret_cast<Word*>(last_word(pair_.in, bytes)));
    for (unsigned looks = 1; word.load(std::memory_order_acquire) != turn_; ++looks) {
      if (looks % looks_per_progress != 0) continue;
      pair_.context.progress();
      if (looks >= looks_before_yield) std::this_thread::yield();
      if (looks % looks_per_check == 0 && !pair_.communicator.failed().empty())
        throw Error(ErrorCode::peer_failed, "the other rank of the pair is gone: its puts will not come");
    }
  }

  static constexpr unsigned looks_per_progress = 64;       // progress is for puts that the target executes
  static constexpr unsigned looks_before_yield = 1 << 14;  // for hosts with more ranks than CPUs
  static constexpr unsigned looks_per_check = 1 << 16;

  Word turn_ = 0;
};

}  // namespace

std::unique_ptr<Exchange> make_put_exchange(Pair& pair) { return std::make_unique<PutExchange>(pair); }
std::unique_ptr<Exchange> make_watched_put_exchange(Pair& pair) {
  return std::make_unique<WatchedPutExchange<std::uint64_t>>(pair);
}
std::unique_ptr<Exchange> make_write_exchange(Pair& pair) {
  return std::make_unique<WatchedPutExchange<std::uint8_t>>(pair);
}

}  // namespace godwit::apps
