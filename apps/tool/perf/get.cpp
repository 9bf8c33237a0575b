// get_lat, get_bw, read_lat, read_bw: the origin reads the target's window.
#include "tool/perf/exchange.hpp"

namespace godwit::apps {

namespace {

class GetExchange : public Exchange {
 public:
  explicit GetExchange(Pair& pair)
      : pair_(pair),
        window_(pair.communicator.window_bytes(pair.out.data(), pair.out.size())),
        in_(pair.communicator.region_bytes(pair.in.data(), pair.in.size())) {}

  void once(std::size_t bytes) override {
    if (pair_.is_origin()) window_.get_bytes(pair_.in.data(), bytes, 1, 0).wait();
  }
  bool round_trip() const noexcept override { return false; }

  Request begin(std::size_t bytes) override { return window_.get_bytes(pair_.in.data(), bytes, pair_.other(), 0); }

  void window(std::size_t bytes, int depth) override {
    if (!pair_.is_origin()) return;
    requests_.clear();
    for (int i = 0; i < depth; ++i) requests_.push_back(window_.get_bytes(pair_.in.data(), bytes, 1, 0));
    wait_all(requests_);
  }

  std::size_t check(std::size_t bytes, std::uint64_t seed) override {
    const Pattern expected = check_data(seed, 1);
    if (!pair_.is_origin()) expected.fill(pair_.out.data(), bytes);
    pair_.communicator.barrier();
    std::size_t wrong = 0;
    if (pair_.is_origin()) {
      once(bytes);
      wrong = expected.count_wrong(pair_.in.data(), bytes);
    }
    pair_.communicator.barrier();
    return wrong;
  }

 private:
  Pair& pair_;
  ByteWindow window_;
  Region in_;  // registered once, as perftest's buffers are
  std::vector<Request> requests_;
};

}  // namespace

std::unique_ptr<Exchange> make_get_exchange(Pair& pair) { return std::make_unique<GetExchange>(pair); }

}  // namespace godwit::apps
