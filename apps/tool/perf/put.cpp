// put_lat, put_bw: puts into the other rank's window.
#include "tool/perf/exchange.hpp"

namespace godwit::apps {

namespace {

constexpr std::uint16_t arrived = 0;  // notification counter

class PutExchange : public Exchange {
 public:
  explicit PutExchange(Pair& pair)
      : pair_(pair), window_(pair.communicator.window_bytes(pair.in.data(), pair.in.size())) {}

  void once(std::size_t bytes) override {
    if (!pair_.is_origin()) window_.wait_notify(arrived);
    Request put = window_.put_bytes(pair_.out.data(), bytes, pair_.other(), 0, {.notify = arrived});
    if (pair_.is_origin()) window_.wait_notify(arrived);
    put.wait();
  }
  bool round_trip() const noexcept override { return true; }

  void window(std::size_t bytes, int depth) override {
    if (!pair_.is_origin()) return;
    requests_.clear();
    for (int i = 0; i < depth; ++i) requests_.push_back(window_.put_bytes(pair_.out.data(), bytes, 1, 0));
    wait_all(requests_);
  }
  void finish() override {
    if (pair_.is_origin()) window_.flush(1);
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

 private:
  Pair& pair_;
  ByteWindow window_;
  std::vector<Request> requests_;
};

}  // namespace

std::unique_ptr<Exchange> make_put_exchange(Pair& pair) { return std::make_unique<PutExchange>(pair); }

}  // namespace godwit::apps
